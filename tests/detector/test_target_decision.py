"""The decision about one target that `check`, `explain` and `simulate` print."""

from dataclasses import replace

import pytest

from detector.inspection.decisions import Decided
from detector.inspection.inspection import unknown_policy
from detector.inspection.memories import IncidentMemories
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderMessage
from health.policy.policy import DEFAULTS
from health.policy.policy_in_force import MISSING_POLICY, NO_OBJECT
from health.runbook.obeying import ordered
from health.runbook.orders import AbortOrder, HoldOrder
from health.runbook.state import Memory
from tests.support.values.builders import (
    ESCALATION,
    FIRST,
    HOLD,
    INCIDENT,
    MINUTE,
    NOW,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.decisions import decision

STALE = Hold(reason=HoldReason.STALE_CACHE, message="the state is 45 s old")
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


def test_target_may_act_only_if_it_is_known_that_no_person_holds_it() -> None:
    assert decision(seen(), unknown="no worker answers").decided is Decided.UNKNOWN
    assert decision(seen(hold=HOLD), unknown="no worker answers").decided is Decided.HELD
    assert decision(seen(RUNNING), unknown="no worker answers").decided is Decided.REMEDIATING


def test_hold_of_the_detector_does_not_stand_for_the_order_of_a_person() -> None:
    assert decision(seen(hold=HOLD), HoldOrder()).hold is None
    assert decision(seen(hold=HOLD), AbortOrder()).hold is None
    assert decision(seen(hold=HOLD)).hold == HOLD
    assert decision(seen(RUNNING, hold=HOLD)).hold == HOLD


def test_orders_are_unknown_of_an_incident_that_does_not_answer_and_of_all_without_temporal() -> None:
    held = ordered(Memory(), HoldOrder(), NOW)
    assert IncidentMemories(found={INCIDENT: held}).of(INCIDENT) == held
    assert IncidentMemories().of(INCIDENT) == Memory()
    assert IncidentMemories().why_unknown(INCIDENT) == ""
    assert IncidentMemories(unknown={INCIDENT: "silent"}).why_unknown(INCIDENT) == "silent"
    assert IncidentMemories(problem="Temporal is down").why_unknown(INCIDENT) == "Temporal is down"


BACK_OFF = Hold(reason=HoldReason.BACK_OFF, message="in 2m")


@pytest.mark.parametrize(
    ("observation", "decided", "hold"),
    [
        (seen(), Decided.UNKNOWN, None),
        (seen(hold=BACK_OFF), Decided.UNKNOWN, None),
        (seen(hold=HOLD), Decided.HELD, HOLD),
        (seen(RUNNING), Decided.REMEDIATING, None),
        (seen(state=TargetState.WAITING), Decided.WAITS, None),
    ],
    ids=["nothing else holds it", "back-off", "threshold", "remediating", "waits"],
)
def test_target_that_only_the_policy_may_hold_is_unknown_while_the_policy_is(
    observation: Observation, decided: Decided, hold: Hold | None
) -> None:
    found = decision(observation, is_policy_unknown=True)
    assert (found.decided, found.hold) == (decided, hold)


def test_only_an_invalid_policy_is_unknown() -> None:
    invalid = NO_OBJECT.refused("limits.maxInFlight: must be an integer (found 'x')")
    assert "the policy is invalid (limits.maxInFlight: must be an integer (found 'x'))" in unknown_policy(
        invalid
    )
    assert (invalid.hold, invalid.is_shadow) == (None, False)
    assert not unknown_policy(NO_OBJECT)
    missing = replace(NO_OBJECT, is_required=True).after(None, DEFAULTS)
    assert (unknown_policy(missing), missing.hold) == ("", MISSING_POLICY)
