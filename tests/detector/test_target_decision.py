"""The decision about one target that `check`, `explain` and `simulate` print."""

import pytest

from detector.inspection.inspection import Decided, TargetDecision
from detector.inspection.memories import IncidentMemories
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderMessage
from health.runbook.obeying import ordered
from health.runbook.orders import AbortOrder, HoldOrder
from health.runbook.outlook import outlook
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

STALE = Hold(reason=HoldReason.STALE_CACHE, message="the state is 45 s old")
UNKNOWN = seen(state=TargetState.UNKNOWN, hold=STALE)
RUNNING = request_of(FIRST, MINUTE)


def decision(observation: Observation, *orders: OrderMessage, unknown: str = "") -> TargetDecision:
    memory = Memory()
    for order in orders:
        memory = ordered(memory, order, NOW - MINUTE)
    unasked = observation.model_copy(update={"admission": None})
    return TargetDecision(
        target=INCIDENT.target,
        observation=unasked,
        outlook=outlook(unasked, memory, NOW),
        unknown=unknown,
    )


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
