"""Deletion of a Machine, and the reasons not to delete it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from devcluster.simulation.resources import MACHINES
from health.model.observation import HoldReason
from kube.client import Client
from kube.resource import NODES
from kube.transport import Transport
from tests.activities.machine_world import STRATEGY, MachineWorld
from tests.activities.overtaken import EventsRefused, EventsUnanswered, Overtaken, Refused, Without
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import NAMESPACE
from workflows.contracts import ACT, ActResult, TargetDisrupted

pytestmark = pytest.mark.cluster

Change = Callable[[MachineWorld], Awaitable[None]]


@pytest.mark.rule("MHC A.2.5/delete", "MHC A.1/event/MachineDeleted", "rule 13/Machine")
async def test_machine_is_deleted_under_its_lease_and_an_event_says_so(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    result = await worker.act(machine_world.order())
    assert isinstance(result.outcome, TargetDisrupted)
    assert await machine_world.is_being_deleted()
    lease = await machine_world.machine_lease()
    assert lease is not None
    assert lease["holderIdentity"] == f"MachineHealthCheck-{NAMESPACE}/{machine_world.name}"
    assert lease["leaseDurationSeconds"] == 660
    assert result.outcome.lease_acquired_at == datetime.fromisoformat(lease["acquireTime"])
    assert await machine_world.lease() is None, "the Lease of the node is for other controllers"
    (event,) = await machine_world.events()
    name = machine_world.name
    assert (event["type"], event["reason"]) == ("Normal", "MachineDeleted")
    assert event["source"] == {"component": "machinehealthcheck-controller"}
    assert event["message"] == (
        f"Machine {NAMESPACE}/{name}/{name}/{name} has been remediated by requesting to delete Machine object"
    )


@pytest.mark.rule("MHC A.2.5/deleting")
async def test_machine_that_is_being_deleted_needs_no_more(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.client.delete(MACHINES, machine_world.name, NAMESPACE)
    before = await machine_world.machine()
    assert await worker.act(machine_world.order()) == ActResult.disrupted()
    assert await machine_world.machine() == before
    assert await machine_world.machine_lease() is None
    assert await machine_world.events() == []


@pytest.mark.rule("MHC A.2.5/deleting", "rule 15")
async def test_deletion_that_is_tried_again_does_and_tells_nothing_more(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await worker.act(machine_world.order())
    before = await machine_world.machine()
    assert await worker.act(machine_world.order()) == ActResult.disrupted()
    assert await machine_world.machine() == before
    assert len(await machine_world.events()) == 1


@pytest.mark.rule("MHC A.2.5/control plane")
async def test_machine_of_the_control_plane_is_deleted_while_no_other_member_is(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.patch_node(labels={"node-role.kubernetes.io/control-plane": ""})
    assert isinstance((await worker.act(machine_world.order())).outcome, TargetDisrupted)
    assert await machine_world.is_being_deleted()
    lock = await machine_world.control_plane_lock()
    assert lock is not None
    assert lock["holderIdentity"].endswith(f"/{machine_world.name}")


async def node_recovers(world: MachineWorld) -> None:
    await world.set_condition("True")


async def machine_is_another(world: MachineWorld) -> None:
    await world.make_machine_anew()


async def node_is_gone(world: MachineWorld) -> None:
    await world.remove_node()


async def check_is_paused(world: MachineWorld) -> None:
    await world.annotate_check({"cluster.x-k8s.io/paused": ""})


async def check_marks_from_now_on(world: MachineWorld) -> None:
    await world.annotate_check(dict(STRATEGY))


async def check_is_limited(world: MachineWorld) -> None:
    await world.annotate_check({"paramedic.dev/max-in-flight": "1"})


CHANGES = [
    # test_act_refused.py covers what all kinds of checks share.
    pytest.param(node_recovers, "no longer true", id="recovered"),
    pytest.param(node_is_gone, "no longer true", id="node-gone"),
    pytest.param(machine_is_another, "another uid", id="recreated"),
    pytest.param(check_is_paused, "paused", id="paused"),
    pytest.param(check_is_limited, "a slot was reserved under no limit", id="limited"),
    pytest.param(check_marks_from_now_on, "no longer says: delete", id="other-strategy"),
]


@pytest.mark.rule("rule 2", "rule 41", "rule 49/act")
@pytest.mark.parametrize(("change", "words"), CHANGES)
async def test_machine_stays_when_something_changed_since_the_admission(
    machine_world: MachineWorld, worker: WorkerActivities, change: Change, words: str
) -> None:
    order = machine_world.order()
    await change(machine_world)
    result = await worker.act(order)
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    assert words in result.hold.message
    assert not await machine_world.is_being_deleted()
    assert await machine_world.machine_lease() is None
    assert await machine_world.events() == []


@pytest.mark.rule("rule 26", "MHC A.2.3/3")
async def test_machine_whose_node_the_api_server_does_not_have_is_deleted(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.remove_node()
    order = await machine_world.order_as_node_is_gone()
    assert isinstance((await worker.act(order)).outcome, TargetDisrupted)
    assert await machine_world.is_being_deleted()


@pytest.mark.rule("rule 26")
async def test_machine_whose_node_is_back_stays(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    result = await worker.act(await machine_world.order_as_node_is_gone())
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    assert not await machine_world.is_being_deleted()


@pytest.mark.rule("rule 26", "rule 3")
async def test_machine_stays_when_what_answers_knows_no_nodes_at_all(
    machine_world: MachineWorld, worker_transport: Transport
) -> None:
    order = await machine_world.order_as_node_is_gone()
    result = await WorkerActivities(worker_transport, client=Without(worker_transport, NODES)).act(order)
    assert result.hold is not None
    assert result.hold.reason is HoldReason.REFUSED
    assert not await machine_world.is_being_deleted()


@pytest.mark.rule("rule 2/preconditions")
async def test_machine_that_changes_between_the_look_and_the_deletion_stays(
    machine_world: MachineWorld, worker_transport: Transport
) -> None:
    async def somebody_writes() -> None:
        await machine_world.patch_machine(annotations={"somebody": "was here"})

    client = Overtaken(worker_transport, MACHINES, somebody_writes)
    result = await WorkerActivities(worker_transport, client=client).act(machine_world.order())
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    assert "changed since" in result.hold.message
    assert not await machine_world.is_being_deleted()
    assert await machine_world.machine_lease() is None
    assert await machine_world.events() == []


@pytest.mark.rule("rule 2/preconditions")
async def test_machine_that_is_made_anew_between_the_look_and_the_deletion_stays(
    machine_world: MachineWorld, worker_transport: Transport
) -> None:
    order = machine_world.order()
    client = Overtaken(worker_transport, MACHINES, machine_world.make_machine_anew)
    result = await WorkerActivities(worker_transport, client=client).act(order)
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    assert not await machine_world.is_being_deleted()


async def test_machine_that_goes_between_the_look_and_the_deletion_needs_no_more(
    machine_world: MachineWorld, worker_transport: Transport
) -> None:
    client = Overtaken(worker_transport, MACHINES, machine_world.remove_machine)
    assert (
        await WorkerActivities(worker_transport, client=client).act(machine_world.order())
        == ActResult.disrupted()
    )
    assert await machine_world.machine_lease() is None
    assert await machine_world.events() == [], "another user deleted it"


@pytest.mark.rule("MHC A.2.5/no controller")
async def test_machine_without_a_controller_stays(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.patch_machine(ownerReferences=None)
    result = await worker.act(machine_world.order())
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NO_CONTROLLER
    assert "nothing would replace it" in result.hold.message
    assert not await machine_world.is_being_deleted()
    assert await machine_world.machine_lease() is None


@pytest.mark.rule("rule 13", "rule 13/Machine")
async def test_machine_whose_lease_another_holds_is_left_to_it(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.make_lease("somebody", datetime.now(UTC), machine_world.machine_lease_name)
    result = await worker.act(machine_world.order())
    assert result.hold is not None
    assert result.hold.reason is HoldReason.TAKEN
    assert "somebody" in result.hold.message
    assert not await machine_world.is_being_deleted()
    lease = await machine_world.machine_lease()
    assert lease is not None
    assert lease["holderIdentity"] == "somebody"


@pytest.mark.rule("MHC A.1/event/MachineDeletionFailed", "rule 15")
async def test_deletion_that_is_refused_is_reported_once_and_gives_the_lease_back(
    machine_world: MachineWorld, worker_transport: Transport
) -> None:
    worker = WorkerActivities(worker_transport, client=Refused(worker_transport, "tests"))
    for _ in range(2):
        result = await worker.act(machine_world.order())
        assert result.hold is not None
        assert (result.hold.reason, result.hold.message) == (HoldReason.REFUSED, "Machines stay.")
    assert await machine_world.machine_lease() is None
    (event,) = await machine_world.events()
    assert (event["type"], event["reason"]) == ("Warning", "MachineDeletionFailed")
    assert event["message"].endswith("remediation failed: unable to delete Machine object: Machines stay.")


@pytest.mark.parametrize("client", [EventsRefused, EventsUnanswered])
async def test_deletion_counts_as_done_though_its_event_is_not_written(
    machine_world: MachineWorld, worker_transport: Transport, client: type[Client]
) -> None:
    async with asyncio.timeout(ACT.attempt.total_seconds()):
        worker = WorkerActivities(worker_transport, client=client(worker_transport, "tests"))
        assert isinstance((await worker.act(machine_world.order())).outcome, TargetDisrupted)
    assert await machine_world.is_being_deleted()


async def test_machine_without_a_node_of_its_own_is_not_judged_by_another(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    body = {"status": {"nodeRef": None}}
    await machine_world.client.merge_patch(MACHINES, machine_world.name, body, NAMESPACE, "status")
    result = await worker.act(machine_world.order())
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    assert "no longer true" in result.hold.message
    assert not await machine_world.is_being_deleted()
