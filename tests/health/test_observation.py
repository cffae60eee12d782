"""Which observations an incident must be woken for."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.remediation_request import EVER
from health.runbook.wake_up import needs_wake_up
from tests.support.values.builders import FIRST, HOLD, NOW, fact, request_snapshot
from tests.support.values.remediation_orders import ORDER

PAUSED = Hold(reason=HoldReason.PAUSED, message="paused by request: update")


def answer(state: TargetState, **fields: Any) -> Observation:
    is_unhealthy = state in (TargetState.WAITING, TargetState.EXPIRED)
    defaults = {"fact": fact(), "generation": 1} if is_unhealthy else {}
    return Observation(state=state, reason="", **(defaults | fields))


def disabled(why: str) -> Observation:
    return answer(TargetState.EXPIRED, hold=Hold(reason=HoldReason.DISABLED, message=why))


HEALTHY = answer(TargetState.HEALTHY)
GONE = answer(TargetState.GONE)
REPLACED = answer(TargetState.GONE, is_replaced=True)
RELEASED = answer(TargetState.RELEASED)
UNKNOWN = answer(TargetState.UNKNOWN, hold=Hold(reason=HoldReason.STALE_CACHE, message="old"))
UNREACHED = answer(
    TargetState.UNKNOWN, hold=Hold(reason=HoldReason.WORKLOAD_CLUSTER_UNREACHABLE, message="no route")
)
WAITING = answer(TargetState.WAITING)
ADMITTED = answer(TargetState.EXPIRED)
MOVED_FACT = fact(NOW + timedelta(minutes=1)).model_copy(update={"condition": "Node", "is_moving": True})
MOVED = answer(TargetState.WAITING, fact=MOVED_FACT)
MOVING = answer(TargetState.WAITING, fact=MOVED_FACT.model_copy(update={"since": NOW}))
HELD_BACK = answer(TargetState.EXPIRED, hold=HOLD)
AT_WORK = answer(TargetState.EXPIRED, requests=(request_snapshot(),))
STAMPED = answer(TargetState.HEALTHY, requests=(request_snapshot(healthy_since=NOW),))
DELAYED = STAMPED.model_copy(update={"healthy_delay_seconds": 3600.0})
HOLDING = AT_WORK.model_copy(update={"lease_acquired_at": NOW})
KEPT = request_snapshot(is_being_deleted=True)
LATER = NOW + timedelta(minutes=6)


def escalating(*, at: datetime, hold: Hold | None = None, **marks: Any) -> Observation:
    """A request of the only step, made at NOW, as it is seen later."""
    requests = (request_snapshot(**marks),)
    return answer(TargetState.EXPIRED, steps=(FIRST,), requests=requests, hold=hold, seen_at=at)


def reported(state: TargetState = TargetState.EXPIRED, **marks: Any) -> Observation:
    """A request with this report of its remediator."""
    return answer(state, requests=(request_snapshot(**marks),))


def held_by(reason: HoldReason, message: str, state: TargetState = TargetState.EXPIRED) -> Observation:
    return answer(state, hold=Hold(reason=reason, message=message))


def with_templates(observation: Observation, templates: str) -> Observation:
    return observation.model_copy(update={"templates": templates})


@pytest.mark.parametrize(
    ("told", "now", "expected"),
    [
        pytest.param(ADMITTED, ADMITTED, False, id="the same"),
        pytest.param(WAITING, HEALTHY, True, id="recovered while its timer ran"),
        pytest.param(AT_WORK, HEALTHY, True, id="recovered"),
        pytest.param(ADMITTED, GONE, True, id="gone"),
        pytest.param(ADMITTED, RELEASED, True, id="released"),
        pytest.param(HEALTHY, WAITING, True, id="unhealthy again"),
        pytest.param(HEALTHY, GONE, True, id="gone after it recovered"),
        pytest.param(GONE, RELEASED, True, id="check gone after the target"),
        pytest.param(GONE, REPLACED, True, id="another of its name is there"),
        pytest.param(REPLACED, REPLACED, False, id="another of its name is still there"),
        pytest.param(REPLACED, GONE, True, id="the other of its name is gone as well"),
        pytest.param(WAITING, ADMITTED, False, id="the deadline passed: it has its own timer"),
        pytest.param(WAITING, HELD_BACK, False, id="the deadline passed, and it is held"),
        pytest.param(
            WAITING,
            answer(TargetState.WAITING, fact=fact(NOW + timedelta(minutes=1))),
            True,
            id="the clock restarted",
        ),
        pytest.param(
            WAITING, answer(TargetState.WAITING, fact=fact(status="False")), True, id="another status"
        ),
        pytest.param(MOVING, MOVED, False, id="a time moved that moves by itself"),
        pytest.param(
            MOVING.model_copy(update={"fact": MOVED_FACT.model_copy(update={"is_moving": False})}),
            MOVING,
            False,
            id="the same, told by an earlier version",
        ),
        pytest.param(MOVING, WAITING, True, id="another fact"),
        pytest.param(MOVING, HEALTHY, True, id="recovered, where its time moves"),
        pytest.param(WAITING, answer(TargetState.WAITING, generation=2), True, id="the check was edited"),
        pytest.param(HELD_BACK, ADMITTED, True, id="the hold was lifted"),
        pytest.param(
            answer(TargetState.WAITING, hold=HOLD), ADMITTED, True, id="held by an older answer, now admitted"
        ),
        pytest.param(
            answer(TargetState.WAITING, hold=HOLD),
            WAITING,
            False,
            id="the hold was lifted while the timer runs",
        ),
        pytest.param(ADMITTED, HELD_BACK, False, id="held now: it asks before it acts"),
        pytest.param(HELD_BACK, answer(TargetState.EXPIRED, hold=PAUSED), True, id="held for another reason"),
        pytest.param(disabled("gone"), disabled("gone"), False, id="disabled as before"),
        pytest.param(disabled("gone"), disabled("refused"), True, id="another thing is wrong with the check"),
        pytest.param(
            held_by(HoldReason.MAINTENANCE_WINDOW, "no window night"),
            held_by(HoldReason.MAINTENANCE_WINDOW, "allowed from 22:00"),
            True,
            id="the windows were edited",
        ),
        pytest.param(
            held_by(HoldReason.STOPPED, "row 7"),
            held_by(HoldReason.STOPPED, "row 8"),
            True,
            id="stopped for another purpose",
        ),
        pytest.param(
            held_by(HoldReason.INVALID_CHECK, "found 'banana'", TargetState.UNKNOWN),
            held_by(HoldReason.INVALID_CHECK, "found 'apple'", TargetState.UNKNOWN),
            True,
            id="the check has another error",
        ),
        pytest.param(
            held_by(HoldReason.LIMIT, "3 are under way"),
            held_by(HoldReason.LIMIT, "4 are under way"),
            False,
            id="the numbers of its hold changed",
        ),
        pytest.param(HELD_BACK, WAITING, True, id="its clock restarted at the end of an upgrade"),
        pytest.param(UNKNOWN, ADMITTED, True, id="the cluster is seen again"),
        pytest.param(UNKNOWN, HEALTHY, True, id="the cluster is seen again, and it recovered"),
        pytest.param(UNKNOWN, UNKNOWN, False, id="the cluster state is still stale"),
        pytest.param(UNKNOWN, UNREACHED, True, id="nobody knows for another reason"),
        pytest.param(ADMITTED, AT_WORK, False, id="a request appeared: it made that itself"),
        pytest.param(AT_WORK, ADMITTED, True, id="somebody deleted its request"),
        pytest.param(
            AT_WORK,
            answer(TargetState.EXPIRED, requests=(request_snapshot("another"),)),
            True,
            id="its request was replaced under its name",
        ),
        pytest.param(
            AT_WORK,
            answer(TargetState.EXPIRED, requests=(KEPT,)),
            False,
            id="its request only hangs on a finalizer",
        ),
        pytest.param(
            answer(TargetState.HEALTHY, requests=(request_snapshot(),)),
            HEALTHY,
            False,
            id="the request that it is removing went",
        ),
        pytest.param(
            answer(TargetState.HEALTHY, requests=(request_snapshot(has_finalizers=True),)),
            HEALTHY,
            True,
            id="the request that it is removing went when its remediator had removed its finalizer",
        ),
        pytest.param(
            DELAYED,
            DELAYED.model_copy(update={"requests": ()}),
            True,
            id="somebody deleted the request that is kept for the healthyDelay",
        ),
        pytest.param(
            DELAYED.model_copy(update={"is_confirmed": True}),
            DELAYED.model_copy(update={"is_confirmed": True, "requests": ()}),
            False,
            id="the request that it is removing because a person confirmed went",
        ),
        pytest.param(
            answer(TargetState.HEALTHY, requests=(KEPT,)),
            HEALTHY,
            True,
            id="the finalizer that it waits for went",
        ),
        pytest.param(
            answer(TargetState.GONE, requests=(request_snapshot(is_node_deletion_expected=True),)),
            GONE,
            True,
            id="the request whose remediator it waits for went",
        ),
        pytest.param(AT_WORK, reported(succeeded=True), False, id="its remediator reports success"),
        pytest.param(AT_WORK, reported(succeeded=False), True, id="its remediator reports a failure"),
        pytest.param(
            reported(succeeded=False), reported(succeeded=True), True, id="a failure became a success"
        ),
        pytest.param(
            AT_WORK,
            reported(is_node_deletion_expected=True),
            False,
            id="its remediator expects the deletion of a node that is there",
        ),
        pytest.param(
            reported(TargetState.GONE, is_node_deletion_expected=True),
            reported(TargetState.GONE, is_node_deletion_expected=True, succeeded=True),
            True,
            id="the remediator that it waits for reports success",
        ),
        pytest.param(
            AT_WORK.model_copy(update={"order": ORDER}),
            reported(succeeded=True).model_copy(update={"order": ORDER}),
            True,
            id="the remediator reports success, which ends the order to remediate",
        ),
        pytest.param(AT_WORK, HOLDING, False, id="the Lease that it took is seen"),
        pytest.param(
            HOLDING,
            HOLDING.model_copy(update={"lease_acquired_at": NOW - timedelta(minutes=31)}),
            True,
            id="somebody rewrote the Lease",
        ),
        pytest.param(HOLDING, AT_WORK, False, id="the Lease that it gave back went"),
        pytest.param(
            answer(TargetState.HEALTHY, requests=(request_snapshot(),)),
            STAMPED,
            False,
            id="it stamped its request",
        ),
        pytest.param(
            STAMPED,
            answer(TargetState.HEALTHY, requests=(request_snapshot(healthy_since=EVER),)),
            True,
            id="somebody wrote another stamp",
        ),
        pytest.param(
            escalating(at=NOW, hold=HOLD),
            escalating(at=NOW),
            False,
            id="a remediator is at work: no hold matters",
        ),
        pytest.param(
            escalating(at=LATER, hold=HOLD),
            escalating(at=LATER),
            True,
            id="the hold of the step after one that timed out was lifted, and nobody could mark that",
        ),
        pytest.param(
            escalating(at=NOW, hold=HOLD, succeeded=False),
            escalating(at=NOW, succeeded=False),
            True,
            id="the hold of the step after one that failed was lifted, and nobody could mark that",
        ),
        pytest.param(
            with_templates(ADMITTED, "a"),
            with_templates(ADMITTED, "b"),
            True,
            id="its act may do now: a template",
        ),
        pytest.param(
            with_templates(ADMITTED, "a"),
            with_templates(AT_WORK, "b"),
            False,
            id="a template was edited, and a remediator is at work",
        ),
        pytest.param(
            with_templates(HELD_BACK, "a"),
            with_templates(HELD_BACK, "b"),
            False,
            id="a template was edited, and something else holds it",
        ),
        pytest.param(
            with_templates(WAITING, "a"),
            with_templates(WAITING, "b"),
            False,
            id="edited while its timer runs",
        ),
        pytest.param(
            with_templates(escalating(at=LATER), "a"),
            with_templates(escalating(at=LATER), "b"),
            True,
            id="the template of the step after one that timed out was edited",
        ),
    ],
)
def test_incident_is_woken_where_the_answer_is_news_to_it(
    told: Observation,
    now: Observation,
    expected: bool,  # noqa: FBT001  a column of the table
) -> None:
    assert needs_wake_up(told, now) is expected


@pytest.mark.parametrize("state", list(TargetState))
@pytest.mark.parametrize("hold", [None, HOLD])
def test_only_an_expired_target_without_a_hold_may_be_admitted(state: TargetState, hold: Hold | None) -> None:
    observation = answer(state, hold=hold)

    assert observation.may_be_admitted is (state is TargetState.EXPIRED and hold is None)


def test_observation_survives_the_way_through_temporal() -> None:
    observation = answer(TargetState.EXPIRED, hold=HOLD, requests=(request_snapshot(), KEPT))

    assert Observation.model_validate_json(observation.model_dump_json()) == observation


def test_hold_tells_its_reason_first() -> None:
    assert str(PAUSED) == "Paused: paused by request: update"


@pytest.mark.parametrize(
    ("observation", "is_outdated"),
    [
        pytest.param(ADMITTED, True, id="an admission"),
        pytest.param(WAITING, True, id="a running timer"),
        pytest.param(HELD_BACK, False, id="a hold: it asks again by itself"),
        pytest.param(HEALTHY, False, id="recovered: a look says otherwise"),
        pytest.param(AT_WORK, True, id="a request exists: it may admit the next step"),
    ],
)
def test_only_an_admission_and_a_timer_grow_old(observation: Observation, *, is_outdated: bool) -> None:
    answered = observation.model_copy(update={"answered_at": NOW})
    fresh = timedelta(seconds=5)

    assert not observation.is_outdated(NOW + fresh, fresh)
    assert not answered.is_outdated(NOW + timedelta(seconds=4.9), fresh)
    assert answered.is_outdated(NOW + fresh, fresh) is is_outdated
