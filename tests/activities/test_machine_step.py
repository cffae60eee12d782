"""Deletion of a Machine or its mark for external remediation, and the reasons not to take that step."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from devcluster.simulation.resources import MACHINES
from health.model.observation import HoldReason
from health.model.references import Step
from kube.client import Client
from kube.resource import NODES
from kube.transport import Transport
from tests.activities.machine_world import DELETE, MARK, STRATEGY, MachineWorld
from tests.activities.overtaken import EventsRefused, EventsUnanswered, Overtaken, Refused, Without
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import NAMESPACE
from workflows.contracts import ACT, ActInput, ActResult, TargetDisrupted

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 28")]

Change = Callable[[MachineWorld], Awaitable[None]]
EVENTS = {
    DELETE: ("MachineDeleted", "Machine {} has been remediated by requesting to delete Machine object"),
    MARK: ("ExternalAnnotationAdded", "Requesting external remediation of node associated with machine {}"),
}
FAILURES = {
    DELETE: (
        "MachineDeletionFailed",
        "remediation failed: unable to delete Machine object: Machines stay.",
    ),
    MARK: ("ExternalAnnotationFailed", "failed: Machines stay."),
}


@dataclass(frozen=True)
class Disruption:
    """The Machine of a check whose step deletes or marks it."""

    world: MachineWorld
    step: Step

    def order(self) -> ActInput:
        return self.world.order(step=self.step)

    async def is_done(self) -> bool:
        return await (self.world.is_being_deleted() if self.step == DELETE else self.world.is_marked())

    async def must_be_held(
        self, worker: WorkerActivities, order: ActInput, reason: HoldReason, words: str
    ) -> None:
        await worker.held(order, reason, words)
        assert not await self.is_done()
        assert await self.world.machine_lease() is None
        assert await self.world.events() == []


@pytest.fixture(params=[DELETE, MARK], ids=lambda step: step.action.value)
async def disruption(request: pytest.FixtureRequest, machine_world: MachineWorld) -> Disruption:
    if request.param == MARK:
        await machine_world.annotate_check(dict(STRATEGY))
    return Disruption(machine_world, request.param)


@pytest.mark.rule(
    "MHC A.2.5/delete",
    "MHC A.2.5/mark",
    "MHC A.1/event/MachineDeleted",
    "MHC A.1/event/ExternalAnnotationAdded",
    "rule 13/Machine",
)
async def test_step_is_taken_under_the_lease_of_the_machine_and_an_event_says_so(
    disruption: Disruption, worker: WorkerActivities
) -> None:
    world, name = disruption.world, disruption.world.name
    result = await worker.act(disruption.order())
    assert isinstance(result.outcome, TargetDisrupted)
    assert await disruption.is_done()
    assert await world.is_being_deleted() is (disruption.step == DELETE)
    lease = await world.machine_lease()
    assert lease["holderIdentity"] == f"MachineHealthCheck-{NAMESPACE}/{name}"
    assert lease["leaseDurationSeconds"] == 660
    assert result.outcome.lease_acquired_at == datetime.fromisoformat(lease["acquireTime"])
    assert await world.lease() is None, "the Lease of the node is for other controllers"
    (event,) = await world.events()
    reason, message = EVENTS[disruption.step]
    assert (event["type"], event["reason"]) == ("Normal", reason)
    assert event["source"] == {"component": "machinehealthcheck-controller"}
    assert event["message"] == message.format(f"{NAMESPACE}/{name}/{name}/{name}")


@pytest.mark.rule("MHC A.2.5/deleting", "MHC A.1/annotation/external-remediation", "rule 15")
async def test_step_that_is_tried_again_writes_and_tells_nothing_more(
    disruption: Disruption, worker: WorkerActivities
) -> None:
    await worker.act(disruption.order())
    before = await disruption.world.machine()
    assert await worker.act(disruption.order()) == ActResult.disrupted()
    assert await disruption.world.machine() == before
    assert len(await disruption.world.events()) == 1


@pytest.mark.rule("MHC A.2.5/deleting", "MHC A.1/annotation/external-remediation")
async def test_machine_that_another_writer_deleted_or_marked_needs_no_more(
    disruption: Disruption, worker: WorkerActivities
) -> None:
    world = disruption.world
    if disruption.step == DELETE:
        await world.client.delete(MACHINES, world.name, NAMESPACE)
    else:
        await world.patch_machine(annotations={"host.metal3.io/external-remediation": "theirs"})
    before = await world.machine()
    assert await worker.act(disruption.order()) == ActResult.disrupted()
    assert await world.machine() == before
    assert await world.machine_lease() is None
    assert await world.events() == []


@pytest.mark.rule("MHC A.2.5/control plane")
async def test_machine_of_the_control_plane_is_deleted_while_no_other_member_is(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.patch_node(labels={"node-role.kubernetes.io/control-plane": ""})
    assert isinstance((await worker.act(machine_world.order())).outcome, TargetDisrupted)
    assert await machine_world.is_being_deleted()
    assert (await machine_world.control_plane_lock())["holderIdentity"].endswith(f"/{machine_world.name}")


async def node_recovers(world: MachineWorld) -> None:
    await world.set_condition("True")


async def check_is_paused(world: MachineWorld) -> None:
    await world.annotate_check({"cluster.x-k8s.io/paused": ""})


async def check_marks(world: MachineWorld) -> None:
    await world.annotate_check(dict(STRATEGY))


async def check_is_limited(world: MachineWorld) -> None:
    await world.annotate_check({"paramedic.dev/max-in-flight": "1"})


async def check_deletes(world: MachineWorld) -> None:
    await world.annotate_check(dict.fromkeys(STRATEGY))


async def machine_loses_its_node(world: MachineWorld) -> None:
    body = {"status": {"nodeRef": None}}
    await world.client.merge_patch(MACHINES, world.name, body, NAMESPACE, "status")


# test_act_refused.py covers what all kinds of checks share.
CHANGES = [
    (DELETE, node_recovers, "no longer true"),
    (DELETE, MachineWorld.remove_node, "no longer true"),
    (DELETE, MachineWorld.make_machine_anew, "another uid"),
    (DELETE, machine_loses_its_node, "no longer true"),
    (DELETE, check_is_paused, "paused"),
    (DELETE, check_is_limited, "a slot was reserved under no limit"),
    (DELETE, check_marks, "no longer says: delete"),
    (MARK, MachineWorld.fail_machine, "no longer true"),
    (MARK, check_deletes, "no longer says: mark"),
]


@pytest.mark.rule("rule 2", "rule 41", "rule 49/act")
@pytest.mark.parametrize(("disruption", "change", "words"), CHANGES, indirect=["disruption"])
async def test_machine_stays_when_something_changed_since_the_admission(
    disruption: Disruption, worker: WorkerActivities, change: Change, words: str
) -> None:
    order = disruption.order()
    await change(disruption.world)
    await disruption.must_be_held(worker, order, HoldReason.NOT_TRUE, words)


@pytest.mark.rule("rule 26", "MHC A.2.3/3")
async def test_machine_whose_node_the_api_server_does_not_have_is_deleted(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.remove_node()
    order = await machine_world.order_as_node_is_gone()
    assert isinstance((await worker.act(order)).outcome, TargetDisrupted)
    assert await machine_world.is_being_deleted()


@pytest.mark.rule("rule 26", "rule 3")
async def test_machine_stays_when_its_node_is_back_or_when_what_answers_knows_no_nodes_at_all(
    machine_world: MachineWorld, worker: WorkerActivities, worker_transport: Transport
) -> None:
    order = await machine_world.order_as_node_is_gone()
    await worker.held(order, HoldReason.NOT_TRUE)
    without_nodes = WorkerActivities(worker_transport, client=Without(worker_transport, NODES))
    await without_nodes.held(order, HoldReason.REFUSED)
    assert not await machine_world.is_being_deleted()


async def another_writes(world: MachineWorld) -> None:
    await world.patch_machine(annotations={"another": "was here"})


@pytest.mark.rule("rule 2/preconditions")
@pytest.mark.parametrize(
    ("disruption", "change", "words"),
    [
        (DELETE, another_writes, "changed since"),
        (DELETE, MachineWorld.make_machine_anew, ""),
        (MARK, another_writes, "changed since"),
        (MARK, MachineWorld.make_machine_anew, "changed since"),
        (MARK, MachineWorld.remove_machine, "is gone"),
    ],
    indirect=["disruption"],
)
async def test_machine_that_changes_between_the_look_and_the_step_stays(
    disruption: Disruption, worker_transport: Transport, change: Change, words: str
) -> None:
    client = Overtaken(worker_transport, MACHINES, lambda: change(disruption.world))
    worker = WorkerActivities(worker_transport, client=client)
    await disruption.must_be_held(worker, disruption.order(), HoldReason.NOT_TRUE, words)


async def test_machine_that_goes_between_the_look_and_the_deletion_needs_no_more(
    machine_world: MachineWorld, worker_transport: Transport
) -> None:
    client = Overtaken(worker_transport, MACHINES, machine_world.remove_machine)
    worker = WorkerActivities(worker_transport, client=client)
    assert await worker.act(machine_world.order()) == ActResult.disrupted()
    assert await machine_world.machine_lease() is None
    assert await machine_world.events() == [], "another user deleted it"


@pytest.mark.rule("MHC A.2.5/no controller", "MHC A.2.5/mark")
async def test_machine_without_a_controller_is_not_deleted_but_marked(
    disruption: Disruption, worker: WorkerActivities
) -> None:
    await disruption.world.patch_machine(ownerReferences=None)
    if disruption.step == DELETE:
        why = "nothing would replace it"
        await disruption.must_be_held(worker, disruption.order(), HoldReason.NO_CONTROLLER, why)
    else:
        await worker.act(disruption.order())
        assert await disruption.is_done()


@pytest.mark.rule("rule 13", "rule 13/Machine")
async def test_machine_whose_lease_another_holds_is_left_to_it(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.make_lease("another", datetime.now(UTC), machine_world.machine_lease_name)
    await worker.held(machine_world.order(), HoldReason.TAKEN, "another")
    assert not await machine_world.is_being_deleted()
    assert (await machine_world.machine_lease())["holderIdentity"] == "another"


@pytest.mark.rule("MHC A.1/event/MachineDeletionFailed", "MHC A.1/event/ExternalAnnotationFailed", "rule 15")
async def test_step_that_is_refused_is_reported_once_and_gives_the_lease_back(
    disruption: Disruption, worker_transport: Transport
) -> None:
    worker = WorkerActivities(worker_transport, client=Refused(worker_transport, "tests"))
    for _ in range(2):
        hold = await worker.held(disruption.order(), HoldReason.REFUSED)
        assert hold.message == "Machines stay."
    assert await disruption.world.machine_lease() is None
    (event,) = await disruption.world.events()
    reason, message = FAILURES[disruption.step]
    assert (event["type"], event["reason"]) == ("Warning", reason)
    assert event["message"].endswith(message)


@pytest.mark.parametrize("client", [EventsRefused, EventsUnanswered])
async def test_deletion_counts_as_done_though_its_event_is_not_written(
    machine_world: MachineWorld, worker_transport: Transport, client: type[Client]
) -> None:
    async with asyncio.timeout(ACT.attempt.total_seconds()):
        worker = WorkerActivities(worker_transport, client=client(worker_transport, "tests"))
        assert isinstance((await worker.act(machine_world.order())).outcome, TargetDisrupted)
    assert await machine_world.is_being_deleted()
