"""Marks of a Machine for external remediation, and the reasons not to mark it."""

import pytest

from devcluster.simulation.resources import MACHINES
from health.model.observation import HoldReason
from kube.transport import Transport
from tests.activities.machine_world import MARK, STRATEGY, MachineWorld
from tests.activities.overtaken import Overtaken, Refused
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import NAMESPACE
from workflows.contracts import ActResult, TargetDisrupted

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 28")]


@pytest.fixture
async def marking(machine_world: MachineWorld) -> MachineWorld:
    """A check whose step marks the Machine."""
    await machine_world.annotate_check(dict(STRATEGY))
    return machine_world


@pytest.mark.rule("MHC A.2.5/mark", "MHC A.1/event/ExternalAnnotationAdded")
async def test_machine_is_marked_under_its_lease_and_an_event_says_so(
    marking: MachineWorld, worker: WorkerActivities
) -> None:
    result = await worker.act(marking.order(step=MARK))
    assert isinstance(result.outcome, TargetDisrupted)
    assert result.outcome.lease_acquired_at is not None
    assert await marking.is_marked()
    assert not await marking.is_being_deleted()
    assert await marking.machine_lease() is not None
    (event,) = await marking.events()
    name = marking.name
    assert (event["type"], event["reason"]) == ("Normal", "ExternalAnnotationAdded")
    assert event["message"] == (
        f"Requesting external remediation of node associated with machine {NAMESPACE}/{name}/{name}/{name}"
    )


@pytest.mark.rule("MHC A.1/annotation/external-remediation")
async def test_mark_that_is_tried_again_writes_and_tells_nothing_more(
    marking: MachineWorld, worker: WorkerActivities
) -> None:
    await worker.act(marking.order(step=MARK))
    before = await marking.machine()
    assert await worker.act(marking.order(step=MARK)) == ActResult.disrupted()
    assert await marking.machine() == before
    assert len(await marking.events()) == 1


@pytest.mark.rule("MHC A.1/annotation/external-remediation")
async def test_machine_that_another_writer_marked_needs_no_second_mark(
    marking: MachineWorld, worker: WorkerActivities
) -> None:
    await marking.patch_machine(annotations={"host.metal3.io/external-remediation": "theirs"})
    before = await marking.machine()
    assert await worker.act(marking.order(step=MARK)) == ActResult.disrupted()
    assert await marking.machine() == before
    assert await marking.machine_lease() is None
    assert await marking.events() == []


@pytest.mark.rule("MHC A.2.5/mark")
async def test_machine_without_a_controller_is_marked_too(
    marking: MachineWorld, worker: WorkerActivities
) -> None:
    await marking.patch_machine(ownerReferences=None)
    assert isinstance((await worker.act(marking.order(step=MARK))).outcome, TargetDisrupted)
    assert await marking.is_marked()


@pytest.mark.rule("rule 2")
async def test_machine_that_failed_since_the_admission_is_not_marked(
    marking: MachineWorld, worker: WorkerActivities
) -> None:
    await marking.fail_machine()
    await _is_held(marking, worker, HoldReason.NOT_TRUE, "no longer true")


@pytest.mark.rule("rule 2")
async def test_machine_of_a_check_that_deletes_by_now_is_not_marked(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await _is_held(machine_world, worker, HoldReason.NOT_TRUE, "no longer says: mark")


@pytest.mark.rule("rule 2/preconditions")
async def test_machine_that_changes_between_the_look_and_the_mark_is_not_marked(
    marking: MachineWorld, worker_transport: Transport
) -> None:
    async def somebody_writes() -> None:
        await marking.patch_machine(annotations={"somebody": "was here"})

    worker = WorkerActivities(worker_transport, client=Overtaken(worker_transport, MACHINES, somebody_writes))
    await _is_held(marking, worker, HoldReason.NOT_TRUE, "changed since")


@pytest.mark.rule("rule 2/preconditions")
async def test_machine_that_is_made_anew_between_the_look_and_the_mark_is_not_marked(
    marking: MachineWorld, worker_transport: Transport
) -> None:
    worker = WorkerActivities(
        worker_transport, client=Overtaken(worker_transport, MACHINES, marking.make_machine_anew)
    )
    await _is_held(marking, worker, HoldReason.NOT_TRUE, "changed since")


@pytest.mark.rule("rule 2/preconditions")
async def test_machine_that_goes_between_the_look_and_the_mark_is_a_hold(
    marking: MachineWorld, worker_transport: Transport
) -> None:
    worker = WorkerActivities(
        worker_transport, client=Overtaken(worker_transport, MACHINES, marking.remove_machine)
    )
    await _is_held(marking, worker, HoldReason.NOT_TRUE, "is gone")


@pytest.mark.rule("MHC A.1/event/ExternalAnnotationFailed")
async def test_mark_that_is_refused_is_reported_once(
    marking: MachineWorld, worker_transport: Transport
) -> None:
    worker = WorkerActivities(worker_transport, client=Refused(worker_transport, "tests"))
    for _ in range(2):
        result = await worker.act(marking.order(step=MARK))
        assert result.hold is not None
        assert result.hold.reason is HoldReason.REFUSED
    assert await marking.machine_lease() is None
    (event,) = await marking.events()
    assert (event["type"], event["reason"]) == ("Warning", "ExternalAnnotationFailed")
    assert event["message"].endswith("failed: Machines stay.")


async def _is_held(world: MachineWorld, worker: WorkerActivities, reason: HoldReason, words: str) -> None:
    result = await worker.act(world.order(step=MARK))
    assert result.hold is not None
    assert result.hold.reason is reason
    assert words in result.hold.message
    assert not await world.is_marked()
    assert await world.machine_lease() is None
    assert await world.events() == []
