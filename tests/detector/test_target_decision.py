"""The decision about one target that `check`, `explain` and `simulate` print."""

import pytest

from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderMessage
from health.runbook.orders import AbortOrder, HoldOrder
from tests.support.values.builders import (
    ESCALATION,
    FIRST,
    HOLD,
    MINUTE,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.decisions import decision
from workflows.inspection_contracts import Decided

STALE = Hold(reason=HoldReason.STALE_CACHE, message="the state is 45 s old")
TAKEN = Hold(reason=HoldReason.TAKEN, message="another holder has its Lease")
UNKNOWN = seen(state=TargetState.UNKNOWN, hold=STALE)
RUNNING = request_of(FIRST, MINUTE)


@pytest.mark.parametrize(
    ("observation", "orders", "decided"),
    [
        (seen(), [], Decided.MAY_ACT),
        (seen(), [HoldOrder()], Decided.HELD_BY_PERSON),
        (seen(), [AbortOrder()], Decided.LEFT_ALONE),
        (seen(hold=HOLD), [], Decided.HELD),
        (seen(hold=HOLD), [HoldOrder()], Decided.HELD_BY_PERSON),
        (seen(state=TargetState.WAITING), [], Decided.WAITS),
        (seen(state=TargetState.WAITING), [HoldOrder()], Decided.HELD_BY_PERSON),
        (UNKNOWN, [], Decided.UNKNOWN),
        (UNKNOWN, [HoldOrder()], Decided.HELD_BY_PERSON),
        (seen(RUNNING), [], Decided.REMEDIATING),
        (seen(RUNNING), [HoldOrder()], Decided.REMEDIATING),
        (seen(RUNNING), [AbortOrder()], Decided.CLEANING_UP),
        (seen(*with_steps_tried(*ESCALATION)), [], Decided.EXHAUSTED),
        (seen(RUNNING, state=TargetState.HEALTHY), [], Decided.CLEANING_UP),
        (seen(is_shadow=True), [], Decided.MAY_ACT),
        (seen(RUNNING, is_shadow=True), [], Decided.REMEDIATING),
    ],
)
def test_decision_is_that_of_the_runbook(
    observation: Observation, orders: list[OrderMessage], decided: Decided
) -> None:
    assert decision(observation, *orders).decided is decided


def test_target_may_act_only_if_its_incident_has_asked_this_leader() -> None:
    assert decision(seen(), is_unheard=True).decided is Decided.UNKNOWN
    assert "has not asked this leader yet" in decision(seen(), is_unheard=True).answer.message
    assert decision(seen(hold=HOLD), is_unheard=True).decided is Decided.HELD
    assert decision(seen(RUNNING), is_unheard=True).decided is Decided.REMEDIATING


def test_finding_of_the_latest_act_holds_a_target_that_nothing_else_holds() -> None:
    found = decision(seen(), found=TAKEN)
    assert (found.decided, found.hold) == (Decided.HELD, TAKEN)
    assert decision(seen(hold=HOLD), found=TAKEN).hold == HOLD
    assert decision(seen(RUNNING), found=TAKEN).decided is Decided.REMEDIATING


def test_hold_of_the_detector_does_not_stand_for_the_order_of_a_person() -> None:
    assert decision(seen(hold=HOLD), HoldOrder()).hold is None
    assert decision(seen(hold=HOLD), AbortOrder()).hold is None
    assert decision(seen(hold=HOLD)).hold == HOLD
    assert decision(seen(RUNNING, hold=HOLD)).hold == HOLD


def test_end_of_a_wait_is_left_out_where_the_decision_has_it_or_the_incident_is_unheard() -> None:
    goes_on = decision(seen(RUNNING)).goes_on
    assert goes_on is not None
    assert goes_on.at is not None
    assert "times out" in goes_on.what
    assert decision(seen(RUNNING), is_unheard=True).goes_on is None
    assert decision(seen(state=TargetState.WAITING)).goes_on is None
