"""The incident of a target that a person ordered to be remediated: what it does, and how the order ends."""

from datetime import timedelta
from typing import Any

import pytest

from health.model.moves import (
    End,
    Move,
    NextEvent,
    Outcome,
    Phase,
    RecordStep,
    RemoveRequests,
    TakeStep,
    Wait,
)
from health.model.observation import Observation, TargetState
from health.runbook.decide import next_move
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.orders import AbortOrder, HoldOrder, ordered
from health.runbook.state import Memory
from tests.support.values.builders import HOLD, MINUTE, NOW, REBOOT, classic, request_snapshot, seen
from tests.support.values.remediation_orders import ORDER
from tests.support.values.remediation_orders import ordered as by_order
from tests.support.values.remediation_orders import remediation_order as an_order

_NOTHING = LeftBehind()
HOUR = timedelta(hours=1)
LATER = an_order(given=NOW + 2 * HOUR, until=NOW + 3 * HOUR)


def of(state: TargetState, **fields: Any) -> Observation:
    return seen(state=state, admission=None, fact=None).model_copy(update=fields)


HEALTHY = of(TargetState.HEALTHY)


def after(memory: Memory, observation: Observation, now: Any = NOW) -> tuple[Memory, Move]:
    memory = learned(memory.at(now), observation, now)
    return memory, next_move(observation, memory, now)


def test_order_is_carried_out_like_a_failure_and_recorded_once() -> None:
    memory, move = after(Memory(), by_order())
    assert isinstance(move, TakeStep)
    assert ORDER.words in str(move.details)
    (record,) = memory.orders
    assert record.words == "remediate by alice: its kubelet hangs"
    assert (record.given, record.until, record.is_reported) == (NOW, ORDER.until, False)
    again, _ = after(memory, by_order())
    assert again.orders == memory.orders
    assert again.order == ORDER
    assert not again.standing


def test_record_of_a_forced_order_says_so() -> None:
    memory, _ = after(Memory(), by_order(an_order(is_forced=True)))
    assert memory.orders[0].words == "remediate --force by alice: its kubelet hangs"


def test_held_order_waits_visibly_until_it_expires() -> None:
    _, move = after(Memory(), by_order(hold=HOLD, admission=None))
    assert isinstance(move, Wait)
    assert move.phase is Phase.HELD
    assert str(HOLD) in str(move.details)
    ends = [one for one in move.until if one.event is NextEvent.ORDER_EXPIRES]
    assert [one.at for one in ends] == [ORDER.until]


def test_target_stays_unhealthy_after_its_request_until_it_boots() -> None:
    memory, _ = after(Memory(), by_order())
    request = request_snapshot(created=NOW)
    memory, move = after(memory, by_order().model_copy(update={"requests": (request,)}), NOW + MINUTE)
    assert not isinstance(move, RemoveRequests | End)
    booted = HEALTHY.model_copy(update={"requests": (request,), "order": ORDER})
    memory, move = after(memory, booted, NOW + 2 * MINUTE)
    assert isinstance(move, RemoveRequests)
    memory, move = after(memory.after_clean_up(_NOTHING, (request,), NOW), HEALTHY, NOW + 2 * MINUTE)
    assert isinstance(move, End)
    assert move.outcome is Outcome.REMEDIATED


def _aborted(memory: Memory) -> Memory:
    return ordered(memory, AbortOrder(reason="wrong node"), NOW)


@pytest.mark.parametrize(
    ("observation", "memory", "now", "why"),
    [
        pytest.param(
            by_order(), Memory(), ORDER.until, "it expired at 2026-03-01T13:00:00Z", id="it expired"
        ),
        pytest.param(by_order(), _aborted(Memory()), NOW, "a person aborted it", id="it is aborted"),
        pytest.param(
            classic(request_snapshot(created=NOW, succeeded=True), fact=by_order().fact, order=ORDER),
            Memory(),
            NOW + MINUTE,
            "its remediator reports success",
            id="its remediator reports success",
        ),
    ],
)
def test_order_that_is_over_is_removed_and_the_incident_ends(
    observation: Observation, memory: Memory, now: Any, why: str
) -> None:
    memory, move = after(memory, observation, now)
    assert memory.order_ended == why
    assert isinstance(move, RemoveRequests), move
    removed = observation.model_copy(update={"order": None, "requests": ()})
    memory = memory.after_clean_up(_NOTHING, observation.requests, now)
    memory, move = after(memory, removed, now)
    assert isinstance(move, End)
    assert str(move.details).endswith(f"healthy, and the order to remediate it is over: {why}")


@pytest.mark.parametrize(
    "request_",
    [
        request_snapshot(created=NOW, succeeded=False),
        request_snapshot(created=NOW),
        request_snapshot(created=NOW - MINUTE, succeeded=True),
    ],
    ids=["failed", "running", "before the order"],
)
def test_order_stands_while_no_request_made_for_it_reports_success(request_: Any) -> None:
    memory, move = after(Memory(), classic(request_, fact=by_order().fact, order=ORDER), NOW)
    assert memory.order_ended is None
    assert not isinstance(move, RemoveRequests | End)


def test_order_that_ended_stays_ended_while_its_removal_fails() -> None:
    request = request_snapshot(created=NOW, succeeded=True)
    memory, _ = after(Memory(), classic(request, fact=by_order().fact, order=ORDER))
    memory, move = after(memory, by_order())
    assert memory.order_ended == "its remediator reports success"
    assert isinstance(move, RemoveRequests)


def test_later_order_on_the_same_target_is_a_new_one() -> None:
    memory, _ = after(Memory(), by_order(), ORDER.until)
    memory, move = after(memory, by_order(LATER), LATER.given)
    assert memory.order == LATER
    assert memory.order_ended is None
    assert len(memory.orders) == 2
    assert isinstance(move, TakeStep)


def test_conditions_that_call_the_target_unhealthy_outlive_the_order() -> None:
    failed = seen(order=ORDER)
    memory, move = after(Memory(), failed, ORDER.until + MINUTE)
    assert memory.order_ended
    assert isinstance(move, TakeStep)


def test_order_gone_from_the_target_ends_the_incident() -> None:
    memory, _ = after(Memory(), by_order())
    _, move = after(memory, HEALTHY)
    assert isinstance(move, End)
    assert move.outcome is Outcome.RECOVERED


def test_hold_of_a_person_keeps_an_order_waiting() -> None:
    memory = ordered(Memory(), HoldOrder(reason="wait for me"), NOW)
    _, move = after(memory, by_order())
    assert isinstance(move, Wait)
    assert move.phase is Phase.HELD
    _, move = after(memory, by_order(), ORDER.until)
    assert isinstance(move, RemoveRequests)


def test_in_shadow_the_step_is_recorded_and_the_order_left_to_a_person() -> None:
    shadow = by_order(is_shadow=True)
    memory, move = after(Memory(), shadow)
    assert isinstance(move, RecordStep)
    _, move = after(memory, shadow, ORDER.until)
    assert isinstance(move, Wait)
    assert "waits until the annotation paramedic.dev/remediate is removed" in str(move.details)


@pytest.mark.parametrize("state", [TargetState.GONE, TargetState.RELEASED])
def test_order_ends_with_its_target(state: TargetState) -> None:
    memory, _ = after(Memory(), by_order())
    _, move = after(memory, of(state))
    assert isinstance(move, End)


def test_order_of_a_released_target_is_removed() -> None:
    _, move = after(Memory(), of(TargetState.RELEASED, order=ORDER))
    assert isinstance(move, RemoveRequests)


def test_first_step_of_an_order_is_the_first_of_the_check() -> None:
    _, move = after(Memory(), by_order())
    assert isinstance(move, TakeStep)
    assert by_order().steps[move.step].template == REBOOT
