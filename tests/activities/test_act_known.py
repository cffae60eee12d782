"""Requests that exist before an act: those of the incident, also unseen by the detector, and those of others.

While the request of an earlier template exists, every order leaves a Machine to its remediator.
"""

from datetime import UTC, datetime, timedelta

import pytest

from devcluster.simulation.resources import MACHINES, NODE_HEALTH_CHECKS
from health.model.observation import HoldReason
from health.model.references import RequestReference, Step
from health.model.remediation_request import TARGET_UID, TEMPLATE_NAME
from kube.resource import EVENTS
from kube.transport import Transport
from tests.activities.machine_world import DELETE, MARK, MachineWorld
from tests.activities.overtaken import NameFreed
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import DEMO, FINALIZER, NAMESPACE, REQUESTS, World
from workflows.contracts import ActResult, TargetDisrupted

pytestmark = pytest.mark.cluster

DUE = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def told(world: World) -> list[tuple[str, str, str]]:
    """Type, reason and message of the Events of the check."""
    found = await world.client.list(EVENTS, "default")
    mine = [event for event in found if event["involvedObject"].get("uid") == world.check_uid]
    return [(event["type"], event["reason"], event["message"]) for event in mine]


def other(world: World, **changes: str) -> RequestReference:
    known = RequestReference(
        api_version=DEMO, kind="PowerCycleRemediation", namespace=NAMESPACE, name=world.name, uid="other"
    )
    return known.model_copy(update=changes)


async def test_request_that_is_still_there_is_the_answer(world: World, worker: WorkerActivities) -> None:
    made = await worker.requested(world.order())
    result = await worker.act(world.order(known=(other(world), made.reference), run_id="run-2"))
    assert result.request == made


@pytest.mark.rule("rule 14/deleted request")
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="no such request"),
        pytest.param({"kind": "UnheardOf"}, id="no such kind"),
        pytest.param({"api_version": "nowhere.example.com/v1"}, id="no such group"),
    ],
)
async def test_request_that_a_user_deleted_is_lost_and_no_other_is_created_at_once(
    world: World, worker: WorkerActivities, changes: dict[str, str]
) -> None:
    result = await worker.act(world.order(known=(other(world, **changes),)))
    assert result == ActResult.lost()
    assert await world.request() is None
    assert await world.lease() is None


@pytest.mark.rule("rule 9", "rule 14/deleted request")
async def test_request_that_a_user_created_anew_is_not_the_lost_one(
    world: World, worker: WorkerActivities
) -> None:
    await world.make_request()
    assert await worker.act(world.order(known=(other(world),))) == ActResult.lost()


@pytest.mark.rule("rule 14", "rule 14/deleted request")
async def test_request_whose_end_is_no_loss_is_followed_by_the_next_one_at_once(
    world: World, worker: WorkerActivities
) -> None:
    known = other(world)
    result = await worker.act(world.order(known=(known,), settled=(known.uid,), attempt=2))
    assert result.request is not None
    assert result.request.uid != known.uid
    assert await world.request() is not None


@pytest.mark.rule("rule 10", "rule 14/deleted request")
async def test_request_whose_end_would_be_no_loss_is_the_answer_while_it_hangs(
    world: World, worker: WorkerActivities
) -> None:
    known = await world.make_request()
    result = await worker.act(world.order(known=(known,), settled=(known.uid,)))
    assert result.request is not None
    assert result.request.uid == known.uid


@pytest.mark.rule("rule 14/deleted request")
async def test_loss_of_one_request_is_no_less_beside_one_that_was_none(
    world: World, worker: WorkerActivities
) -> None:
    known = (other(world), other(world, uid="ours"))
    assert await worker.act(world.order(known=known, settled=("ours",))) == ActResult.lost()
    assert await world.request() is None


@pytest.mark.rule("rule 14/event", "rule 14/deleted request")
async def test_loss_emits_one_event_on_the_check_with_the_time_of_the_next_request(
    world: World, admin_worker: WorkerActivities
) -> None:
    order = world.order(known=(other(world),), due_after_loss=DUE)
    words = (
        f"[remediation] Skipped remediation of node: {world.name}, because of BackOff: "
        "its request was removed by another actor, the next one is due at 2026-03-01T12:00:00Z"
    )
    assert await admin_worker.act(order) == ActResult.lost()
    again = order.model_copy(update={"due_after_loss": DUE + timedelta(seconds=5)})
    assert await admin_worker.act(again) == ActResult.lost()
    assert await told(world) == [("Warning", "RemediationSkipped", words)]

    later = order.model_copy(update={"known": (other(world, uid="the next one"),)})
    assert await admin_worker.act(later) == ActResult.lost()
    assert len(await told(world)) == 2


@pytest.mark.rule("rule 14/event", "rule 14/limit")
async def test_loss_after_which_nothing_waits_is_not_reported(
    world: World, admin_worker: WorkerActivities
) -> None:
    assert await admin_worker.act(world.order(known=(other(world),))) == ActResult.lost()
    assert await told(world) == []


@pytest.mark.rule("rule 14/event", "rule 14/deleted request")
async def test_loss_counts_also_where_its_check_is_gone_and_nothing_can_be_told(
    world: World, admin_worker: WorkerActivities
) -> None:
    await world.client.delete(NODE_HEALTH_CHECKS, world.name)
    assert await admin_worker.act(world.order(known=(other(world),), due_after_loss=DUE)) == ActResult.lost()
    assert await told(world) == []


@pytest.mark.rule("rule 10/steps")
async def test_request_of_an_earlier_template_under_the_same_name_is_waited_for(
    world: World, worker: WorkerActivities
) -> None:
    await world.make_request(annotations={TEMPLATE_NAME: "an-earlier-template"})
    await worker.held(world.order(), HoldReason.EARLIER_REQUEST, "earlier template")


async def test_refusal_leaves_the_lease_to_an_incident_that_held_it(
    world: World, worker: WorkerActivities
) -> None:
    await worker.requested(world.order())
    await world.set_condition("True")
    assert (await worker.act(world.order(holds_lease=True))).hold is not None
    assert await world.lease() is not None


@pytest.mark.rule("NHC 2.4/4/foreign", "rule 13")
async def test_request_of_another_owner_is_left_to_it(world: World, worker: WorkerActivities) -> None:
    await world.make_request(of_another=True)
    await worker.held(world.order(), HoldReason.TAKEN_BY_REQUEST)
    assert await world.request() is not None
    assert await world.lease() is None


@pytest.mark.rule("rule 11/recreated")
async def test_request_for_an_earlier_node_of_the_name_is_waited_for(
    world: World, worker: WorkerActivities
) -> None:
    await world.make_request(annotations={TARGET_UID: "an-earlier-node"})
    await worker.held(world.order(), HoldReason.EARLIER_REQUEST)


@pytest.mark.rule("NHC 2.7/finalizer")
async def test_request_that_hangs_on_a_finalizer_is_waited_for(
    world: World, worker: WorkerActivities
) -> None:
    await world.make_request(finalizers=(FINALIZER,), annotations={TARGET_UID: world.node_uid})
    await world.client.delete(REQUESTS, world.name, NAMESPACE)
    await worker.held(world.order(), HoldReason.EARLIER_REQUEST)
    assert await world.lease() is not None, "its remediator may still be at work"
    await world.remove_request(world.name)
    assert (await worker.act(world.order())).request is not None


@pytest.mark.rule("NHC 2.7/finalizer")
async def test_request_that_is_deleted_during_the_look_does_not_delay_the_act(
    world: World, worker_transport: Transport
) -> None:
    await world.make_request(finalizers=(FINALIZER,), annotations={TARGET_UID: world.node_uid})
    await world.client.delete(REQUESTS, world.name, NAMESPACE)
    client = NameFreed(worker_transport, REQUESTS, lambda: world.remove_request(world.name))
    assert (await WorkerActivities(worker_transport, client=client).act(world.order())).request is not None


@pytest.mark.rule("rule 10")
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


@pytest.mark.rule("rule 10")
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
    order = machine_world.order(known=(known,), due_after_loss=DUE)

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
