"""A person's order on a healthy Machine of Cluster API, on a real API server."""

from datetime import UTC, datetime, timedelta

import pytest

from health.check.ordered import fact_of
from health.model.remediation_order import REMEDIATE, RemediationOrder
from tests.activities.clusterapi.world import ClusterApiWorld
from tests.activities.worker_activities import WorkerActivities
from tests.support.values.remediation_orders import annotated
from workflows.contracts import CleanUpInput

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 2", "rule 52")]


async def test_owner_of_a_healthy_machine_is_asked_only_with_the_order_on_it(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    given = datetime.now(UTC).replace(microsecond=0)
    check, until = str(world.incident.check), given + timedelta(hours=1)
    order = RemediationOrder(check=check, reason="it hangs", identity="alice", given=given, until=until)
    world.node("True")
    assert (await worker.act(world.order(fact=fact_of(order)))).hold is not None
    assert not await world.is_marked()

    await world.patch_machine(annotations=annotated(order))
    assert (await worker.act(world.order(fact=fact_of(order)))).hold is None
    failed = (await world.conditions())["HealthCheckSucceeded"]
    assert failed["reason"] == "RemediationOrdered"
    assert failed["message"] == "Health check failed: its remediation was ordered by alice: it hangs"

    await worker.clean_up(CleanUpInput(incident=world.incident, requests=(), order=order))
    assert REMEDIATE not in (await world.machine())["metadata"].get("annotations", {})
