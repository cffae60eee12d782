"""The Lease of a Machine and its requests after the remediation."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.node import CONFIRMED_HEALTHY
from health.model.references import RequestReference
from health.model.remediation_request import INCIDENT, TARGET_UID
from kube.resource import NODES
from tests.activities.machine_world import MachineWorld
from tests.activities.worker_activities import WorkerActivities
from workflows.contracts import CleanUpInput, RenewInput

pytestmark = pytest.mark.cluster


async def test_lease_is_given_back_when_nothing_is_left(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await worker.act(machine_world.order())
    await worker.clean_up(CleanUpInput(incident=machine_world.incident, requests=()))
    assert await machine_world.machine_lease() is None


async def test_lease_of_another_check_is_not_given_back(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    holder = machine_world.holder.replace("/", "/not-")
    await machine_world.make_lease(holder, datetime.now(UTC), machine_world.machine_lease_name)
    await worker.clean_up(CleanUpInput(incident=machine_world.incident, requests=()))
    assert await machine_world.machine_lease() is not None


async def test_lease_is_renewed(machine_world: MachineWorld, worker: WorkerActivities) -> None:
    before = datetime.now(UTC) - timedelta(minutes=5)
    await machine_world.make_lease(machine_world.holder, before, machine_world.machine_lease_name)
    result = await worker.renew(RenewInput(incident=machine_world.incident, duration_seconds=600))
    assert result.acquired_at == before
    lease = await machine_world.machine_lease()
    assert lease is not None
    assert datetime.fromisoformat(lease["renewTime"]) > before + timedelta(minutes=4)


@pytest.mark.rule("rule 39")
async def test_request_that_the_operator_made_is_deleted(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.use_template()
    await _clean_up(machine_world, worker, await machine_world.make_machine_request())
    assert await machine_world.request() is None


async def test_own_request_is_deleted(machine_world: MachineWorld, worker: WorkerActivities) -> None:
    annotations = {INCIDENT: machine_world.incident.workflow_id, TARGET_UID: machine_world.machine_uid}
    await _clean_up(machine_world, worker, await machine_world.make_machine_request(annotations=annotations))
    assert await machine_world.request() is None


async def test_request_of_another_checks_incident_is_kept(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    incident = machine_world.incident
    other = incident.check.model_copy(update={"name": "another"})
    theirs = incident.model_copy(update={"check": other}).workflow_id
    await _clean_up(
        machine_world, worker, await machine_world.make_machine_request(annotations={INCIDENT: theirs})
    )
    assert await machine_world.request() is not None


async def test_mark_on_a_node_of_the_machines_name_is_no_business_of_it(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.patch_node(annotations={CONFIRMED_HEALTHY: ""})
    asked = CleanUpInput(incident=machine_world.incident, requests=(), is_confirmed=True)
    await worker.clean_up(asked)
    node = await machine_world.client.get(NODES, machine_world.name)
    assert CONFIRMED_HEALTHY in node["metadata"]["annotations"]


async def _clean_up(world: MachineWorld, worker: WorkerActivities, request: RequestReference) -> None:
    """Clean up a request that the detector does not attribute to the check."""
    asked = CleanUpInput(incident=world.incident, requests=(request,), doubtful=(request.uid,))
    assert (await worker.clean_up(asked)).remaining == ()
