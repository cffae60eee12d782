"""While the request of an earlier template exists, every order leaves the Machine to its remediator."""

from datetime import UTC, datetime

import pytest

from devcluster.simulation.resources import MACHINES
from health.model.references import Step
from tests.activities.machine_world import DELETE, MARK, MachineWorld
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import NAMESPACE, REQUESTS
from workflows.contracts import ActResult, TargetDisrupted

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 10")]


@pytest.mark.parametrize("step", [DELETE, MARK])
async def test_machine_is_left_alone_while_a_request_that_the_incident_made_is_there(
    machine_world: MachineWorld, worker: WorkerActivities, step: Step
) -> None:
    known = await machine_world.make_machine_request()
    before = await machine_world.machine()

    result = await worker.act(machine_world.order(step=step, known=(known,)))

    assert result.request is not None
    assert result.request.reference == known
    assert await machine_world.machine() == before


async def test_request_that_another_client_deleted_counts_before_anything_else_is_done(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    known = await machine_world.make_machine_request()
    await machine_world.client.delete(REQUESTS, machine_world.name, NAMESPACE)

    assert await worker.act(machine_world.order(known=(known,))) == ActResult.lost()
    assert not await machine_world.is_being_deleted()
    assert isinstance((await worker.act(machine_world.order())).outcome, TargetDisrupted)
    found = await machine_world.client.get(MACHINES, machine_world.name, NAMESPACE)
    assert "deletionTimestamp" in found["metadata"]


@pytest.mark.rule("rule 14/event", "rule 14/deleted request")
async def test_loss_emits_an_event_on_the_machine_with_the_time_of_the_next_request(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    known = await machine_world.make_machine_request()
    await machine_world.client.delete(REQUESTS, machine_world.name, NAMESPACE)
    order = machine_world.order(known=(known,), due_after_loss=datetime(2026, 3, 1, 12, tzinfo=UTC))

    assert await worker.act(order) == ActResult.lost()
    assert await worker.act(order) == ActResult.lost()

    (event,) = await machine_world.events()
    name = f"{NAMESPACE}/{machine_world.name}/{machine_world.name}/{machine_world.name}"
    assert (event["type"], event["reason"]) == ("Normal", "RemediationRestricted")
    assert event["message"] == (
        f"Machine {name} remediation restricted: BackOff: "
        "its request was removed by another actor, the next one is due at 2026-03-01T12:00:00Z"
    )
    assert event["involvedObject"]["uid"] == machine_world.machine_uid
