"""Requests of the incident that the detector does not see: a second one is never created."""

from datetime import UTC, datetime, timedelta

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.observation import HoldReason
from health.model.references import RequestReference
from health.model.remediation_request import TEMPLATE_NAME
from kube.resource import EVENTS
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import DEMO, NAMESPACE, World
from workflows.contracts import ActResult

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
    made = (await worker.act(world.order())).request
    assert made is not None
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
    result = await worker.act(world.order())
    assert result.request is None
    assert result.hold is not None
    assert result.hold.reason is HoldReason.EARLIER_REQUEST
    assert "earlier template" in result.hold.message


async def test_refusal_leaves_the_lease_to_an_incident_that_held_it(
    world: World, worker: WorkerActivities
) -> None:
    made = (await worker.act(world.order())).request
    assert made is not None
    await world.set_condition("True")
    assert (await worker.act(world.order(holds_lease=True))).hold is not None
    assert await world.lease() is not None
