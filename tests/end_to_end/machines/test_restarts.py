"""Both processes die at any moment of an incident: still only one deletion and one request happen."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import MACHINES
from tests.support.story.audit import deletions
from tests.support.story.machines import FINALIZER, Machines
from tests.support.story.paramedic import Paramedic
from workflows.messages import State

pytestmark = pytest.mark.cluster

REQUESTING = "requesting"

TIMEOUT = timedelta(seconds=10)
"""Long enough that a busy machine observes the timeout while it runs, and both processes die meanwhile."""


async def kill(paramedic: Paramedic) -> None:
    await asyncio.gather(paramedic.detector.kill(), paramedic.worker.kill())


@pytest.mark.rule(
    "MHC A.2.9/restart",
    "MHC A.2.5/delete",
    "MHC A.2.3/4",
    "MHC A.2.6/healthy",
    "rule 1",
    "rule 10",
    "rule 12",
)
async def test_machine_is_deleted_once_on_time_and_open_requests_are_kept_and_removed_whatever_dies_meanwhile(
    machines: Machines, control_plane: ControlPlane, paramedic: Paramedic
) -> None:
    name, late = deleted = await machines.add("a", "late", finalizers=[FINALIZER], labels={"with": "nothing"})
    edited, recovers = requested = await machines.add("edited", "recovers", labels={"with": "template"})
    deleting = await machines.add_check(
        unhealthyConditions=[{"type": "Ready", "status": "Unknown", "timeout": f"{TIMEOUT.seconds}s"}],
        selector={"matchLabels": {"with": "nothing"}},
    )
    requesting = await machines.add_check(
        REQUESTING,
        selector={"matchLabels": {"with": "template"}},
        remediationTemplate=await machines.add_template(),
    )
    await machines.world.fail(*requested)
    await machines.world.until_requested(*requested)
    await machines.until_state(edited, lambda state: state.phase == "Remediating", REQUESTING)
    await deleting.until_numbers(2, 2, 2)
    failed = datetime.now(UTC).replace(microsecond=0)
    await machines.world.set_ready(name, "Unknown", failed)
    await machines.until_state(name, lambda state: state.phase == "Waiting")
    await kill(paramedic)
    await machines.world.set_ready(late, "Unknown", failed - timedelta(minutes=1))
    await machines.world.recover(recovers)

    await paramedic.start()
    await machines.until_going(*deleted)
    for each in deleted:
        await machines.until_state(each, lambda state: state.memory.disruption.deleted_at is not None)
    going = await machines.client.get(MACHINES, name, machines.namespace)
    assert datetime.fromisoformat(going["metadata"]["deletionTimestamp"]) >= failed + TIMEOUT
    assert await machines.outcome(recovers, REQUESTING) == "Remediated"
    await kill(paramedic)
    await machines.world.recover(name)
    await requesting.edit(remediationTemplate=None)  # now only the incident knows the request
    await paramedic.start()
    await deleting.until_numbers(2, 0, 0)
    assert (await machines.state(name)).memory.disruption.deleted_at is not None
    await asyncio.gather(*(machines.let_go(each) for each in deleted))
    await machines.until_state(edited, _has_seen_the_edit, REQUESTING)
    await requesting.until_numbers(2, 1, 1)
    await machines.world.recover(edited)

    async def has_no_request() -> bool:
        return not any(machines.world.requests.existing(each) for each in requested)

    assert [await machines.outcome(each) for each in deleted] == ["Remediated"] * 2
    assert await machines.outcome(edited, REQUESTING) == "Remediated"
    await requesting.until_numbers(2, 2, 2)
    for each in deleted:
        assert deletions(control_plane.audit_log, machines.namespace, each) == [200]
        assert len(await machines.events(each, "MachineDeleted")) == 1
    await machines.world.until(has_no_request, f"requests of {requested} are left")
    for each in requested:
        assert machines.world.requests.created(each) == 1
        assert not await machines.is_going(each)
        assert deletions(control_plane.audit_log, machines.namespace, each) == []


def _has_seen_the_edit(state: State) -> bool:
    return state.observation is not None and state.observation.generation == 2
