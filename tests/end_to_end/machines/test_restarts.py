"""Both processes die at any moment of an incident: there is one deletion, and one request."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import MACHINES
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.machines.audit import deletions
from tests.end_to_end.machines.machines import FINALIZER, Machines

pytestmark = pytest.mark.cluster

TIMEOUT = timedelta(seconds=3)


async def kill(paramedic: Paramedic) -> None:
    """Kill both with -9."""
    await asyncio.gather(paramedic.detector.kill(), paramedic.worker.kill())


@pytest.mark.rule("MHC A.2.9/restart", "MHC A.2.5/delete", "MHC A.2.3/4", "rule 1", "rule 12")
async def test_machine_is_deleted_once_on_time_whatever_dies_around_its_deletion(
    machines: Machines, control_plane: ControlPlane, paramedic: Paramedic
) -> None:
    name, late = await machines.add("a", "late", finalizers=[FINALIZER])
    check = await machines.add_check(
        unhealthyConditions=[{"type": "Ready", "status": "Unknown", "timeout": "3s"}]
    )
    await check.until_numbers(2, 2, 2)
    failed = datetime.now(UTC).replace(microsecond=0)
    await machines.world.set_ready(name, "Unknown", failed)
    await machines.until_state(name, lambda state: state.phase == "Waiting")
    await kill(paramedic)
    await machines.world.set_ready(late, "Unknown", failed - timedelta(minutes=1))

    await paramedic.start()
    await machines.until_going(name, late)
    for each in (name, late):
        await machines.until_state(each, lambda state: state.memory.disruption.has_deleted)
    going = await machines.client.get(MACHINES, name, machines.namespace)
    assert datetime.fromisoformat(going["metadata"]["deletionTimestamp"]) >= failed + TIMEOUT
    await kill(paramedic)
    await machines.world.recover(name)
    await paramedic.start()
    await check.until_numbers(2, 0, 0)
    assert (await machines.state(name)).memory.disruption.has_deleted
    await asyncio.gather(machines.let_go(name), machines.let_go(late))

    assert [await machines.outcome(each) for each in (name, late)] == ["Remediated"] * 2
    for each in (name, late):
        assert deletions(control_plane.audit_log, machines.namespace, each) == [200]
        assert len(await machines.events(each, "MachineDeleted")) == 1


@pytest.mark.rule("MHC A.2.9/restart", "MHC A.2.6/healthy", "rule 10", "rule 1")
async def test_open_request_is_kept_and_removed_in_the_end_whatever_dies_meanwhile(
    machines: Machines, control_plane: ControlPlane, paramedic: Paramedic
) -> None:
    name, recovers = await machines.add("a", "recovers")
    check = await machines.add_check(remediationTemplate=await machines.add_template())
    await machines.world.fail(name, recovers)
    await machines.world.until_requested(name, recovers)
    await machines.until_state(name, lambda state: state.phase == "Remediating")

    await kill(paramedic)
    await machines.world.recover(recovers)
    await paramedic.start()
    assert await machines.outcome(recovers) == "Remediated"
    await kill(paramedic)
    await check.edit(remediationTemplate=None)  # nothing but the incident knows of the request now
    await paramedic.start()
    await machines.until_state(
        name, lambda state: state.observation is not None and state.observation.generation == 2
    )
    await check.until_numbers(2, 1, 1)
    await machines.world.recover(name)

    assert await machines.outcome(name) == "Remediated"
    await check.until_numbers(2, 2, 2)
    for each in (name, recovers):
        assert machines.world.requests.created(each) == 1
        assert machines.world.requests.existing(each) == 0
        assert not await machines.is_going(each)
        assert deletions(control_plane.audit_log, machines.namespace, each) == []
