"""A Machine that replaced one that was deleted, and fails too, waits; those that were there before do not."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.control_socket import ask
from devcluster.simulation.kubelets import Intervals, simulate
from devcluster.simulation.machine_room import MachineRoom
from devcluster.simulation.machine_set import keep_machines
from devcluster.simulation.resources import MACHINES
from health.kinds.openshift.check import EXTERNAL_BAREMETAL, STRATEGY
from kube.transport import Transport
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.machines.machines import FINALIZER, Machines

pytestmark = pytest.mark.cluster

PACE = Intervals(renewal=timedelta(seconds=0.5), look=timedelta(seconds=0.5))
AT_ONCE = timedelta(milliseconds=1)
BAREMETAL = {STRATEGY: EXTERNAL_BAREMETAL}
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)

Fail = Callable[[str], Awaitable[None]]


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """As by default."""
    return {"PARAMEDIC_BACK_OFF_LIMIT_SECONDS": "1800"}


@pytest.fixture
async def fail(machines: Machines, control_plane: ControlPlane) -> AsyncIterator[Fail]:
    """Lets the Node of a Machine fall silent, while somebody looks after MachineSets and hardware."""
    directory = Path(tempfile.mkdtemp(prefix="kubelets-"))  # short enough for a socket
    control = directory / "control.sock"
    room = MachineRoom(control.with_suffix(".machines.json"), 0)

    async def silence(machine: str) -> None:
        node = await machines.node_of(machine)
        await ask(control, {"stop": node})
        await machines.world.fail(node)

    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        tasks = [
            asyncio.create_task(simulate(transport, room, control, PACE)),
            asyncio.create_task(keep_machines(transport, control, AT_ONCE)),
        ]
        yield silence
        await machines.scale(0)
        await machines.until_running(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    shutil.rmtree(directory)


async def due_of(machines: Machines, machine: str, which: str) -> datetime:
    """When that remediation in a row is due, as the incident says while it is held."""
    state = await machines.until_held(machine, f"BackOff: {which} remediation in a row, due at ")
    found = re.search(r"due at (\S+Z)", state.details)
    assert found is not None
    return datetime.fromisoformat(found[1])


@pytest.mark.rule("rule 14/controller", "rule 14/event", "rule 14", "rule 40", "MHC A.2.9/restart")
async def test_replacement_that_fails_waits_a_minute_and_those_side_by_side_do_not(
    machines: Machines, fail: Fail, paramedic: Paramedic
) -> None:
    await machines.scale(2)
    first, second = await machines.until_running(2)
    check = await machines.add_check()
    await check.until_numbers(2, 2, 2)
    for name in (first, second):
        await machines.set_metadata(name, finalizers=[FINALIZER])
    await fail(first)
    await machines.until_going(first)
    await fail(second)  # it was there before
    await machines.until_going(second)
    going = await machines.client.get(MACHINES, second, machines.namespace)
    deleted = datetime.fromisoformat(going["metadata"]["deletionTimestamp"])
    await asyncio.gather(machines.let_go(first), machines.let_go(second))
    assert [await machines.outcome(name) for name in (first, second)] == ["Remediated"] * 2

    replacement, other = await machines.until_running(2)
    await asyncio.gather(fail(replacement), fail(other))
    due = await due_of(machines, replacement, "2nd")
    assert deleted + MINUTE <= due <= deleted + MINUTE + 30 * SECOND
    assert await due_of(machines, other, "2nd") == due
    assert not await machines.is_going(replacement)
    await paramedic.detector.kill()
    await paramedic.detector.start_ready()
    asked = await machines.until_state(replacement, lambda state: state.observation is not None)
    assert asked.observation is not None
    # It counts from the end that Temporal noted; the one before had seen that end itself.
    assert abs(await due_of(machines, replacement, "2nd") - due) <= SECOND
    event = await machines.until_told(replacement, "RemediationRestricted")
    assert "BackOff: 2nd remediation in a row, due at " in event["message"]

    await machines.resume(replacement)
    assert await machines.outcome(replacement) == "Remediated"
    assert not await machines.is_going(other)
    await due_of(machines, other, "2nd")
