"""A remediation under holds and orders of people, and what interrupts it."""

from dataclasses import replace
from typing import Any

import pytest

from health.model.details import Details
from health.model.moves import Phase, ReleaseLease, RemoveRequests, RenewLease, TakeStep, Wait
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.remediation_request import GREW_OLD, HEALTHY_DELAY, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.runbook.deadlines import OLD
from health.runbook.decide import next_move
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.memory_parts import NewStart
from health.runbook.state import Memory
from health.runbook.words import NOTHING_TO_ACT_ON
from tests.support.values.builders import (
    ADMITTED,
    CLASSIC,
    ESCALATION,
    FIRST,
    HOLD,
    MINUTE,
    NOW,
    hanging,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import (
    ACTED,
    Timed,
    annotations_of,
    because,
    move,
    standing,
    timed,
    timer_of,
    with_lease,
)

BY_A_PERSON: dict[str, Any] = {"standing": standing("hold", "disk swap")}
AT_WORK, FAILED = request_of(FIRST), request_of(FIRST, succeeded=False, timed_out_at=NOW)
STALE = Hold(reason=HoldReason.STALE_CACHE, message="old", ask_again_seconds=10)


HELD_IN_VAIN = [
    pytest.param(
        {"hold": Hold(reason=reason, message="no", ask_again_seconds=100)},
        {},
        id=f"detector: {reason}",
    )
    for reason in HoldReason
]


@pytest.mark.rule("rule 7", "NHC 2.2/existing requests")
@pytest.mark.parametrize(
    ("fields", "orders"), [*HELD_IN_VAIN, pytest.param({}, BY_A_PERSON, id="by a person")]
)
def test_hold_stops_the_next_step(fields: dict[str, Any], orders: dict[str, Any]) -> None:
    result = move(seen(FAILED, **fields), replace(ACTED, **orders))
    assert isinstance(result, Wait)
    assert result.phase is Phase.HELD


@pytest.mark.rule("rule 7/timed out", "rule 7/lease")
@pytest.mark.parametrize(
    ("fields", "orders"), [({"hold": HOLD}, {}), ({}, BY_A_PERSON)], ids=["by the detector", "by a person"]
)
def test_hold_stops_no_task(fields: dict[str, Any], orders: dict[str, Any]) -> None:
    memory = replace(ACTED, **orders)
    assert TIMED_OUT in annotations_of(move(seen(request_of(FIRST, 6 * MINUTE), **fields), memory))
    due = with_lease(memory, renew_at=NOW)
    assert isinstance(move(seen(AT_WORK, **fields), due), RenewLease)
    acquired_long_ago = with_lease(memory, acquired_at=NOW - 60 * MINUTE)
    overdue = request_of(FIRST, 16 * MINUTE, timed_out_at=NOW)
    assert isinstance(move(seen(overdue, **fields), acquired_long_ago), ReleaseLease)
    grown_old = request_of(CLASSIC[0], OLD, succeeded=True)
    assert GREW_OLD in annotations_of(move(seen(grown_old, steps=CLASSIC, **fields), memory))


@pytest.mark.rule("rule 7")
def test_request_at_work_is_given_its_time_while_the_check_is_held() -> None:
    assert move(seen(AT_WORK, hold=HOLD)) == move(seen(AT_WORK))


@pytest.mark.rule("NHC 2.1/13/timer runs")
def test_while_only_a_timer_runs_requests_stay_and_nothing_escalates() -> None:
    over = request_of(FIRST, 6 * MINUTE)
    for request in (over, FAILED, AT_WORK, request_of(FIRST, 6 * MINUTE, succeeded=True)):
        result = move(seen(request, state=TargetState.WAITING))
        assert isinstance(result, Wait)
        assert timer_of(result) == 90
    assert move(seen(over)) != move(seen(over, state=TargetState.WAITING))


@pytest.mark.rule("NHC 2.1/13/timer runs")
def test_while_only_a_timer_runs_the_lease_is_kept_even_when_it_is_overdue() -> None:
    overdue = with_lease(ACTED, acquired_at=NOW - 60 * MINUTE, renew_at=NOW, duration_seconds=600.0)
    request = request_of(CLASSIC[0], 60 * MINUTE)
    assert isinstance(move(seen(request, state=TargetState.WAITING, steps=CLASSIC), overdue), RenewLease)


@pytest.mark.rule("rule 3")
def test_blindness_disturbs_nothing_but_the_lease_is_kept() -> None:
    unmarked = request_of(FIRST, 100 * OLD, succeeded=False, healthy_since=NOW)
    blind = seen(unmarked, state=TargetState.UNKNOWN, hold=STALE)
    result = move(blind)
    assert isinstance(result, Wait)
    assert result.phase is Phase.REMEDIATING
    assert timer_of(result) == 10
    assert isinstance(move(blind, with_lease(ACTED, renew_at=NOW)), RenewLease)


@pytest.mark.rule("rule 3")
def test_blindness_between_two_steps_still_says_that_a_person_holds() -> None:
    between = learned(ACTED, seen(FAILED), NOW)
    blind = seen(state=TargetState.UNKNOWN, hold=STALE)
    words = "it is Unknown; StaleCache: old (asks again in 10s)"
    assert timed(move(blind, between)) == Timed(Phase.HELD, words, 10)
    details = "it is Unknown; held by a person: disk swap"
    assert timed(
        move(blind, replace(between, standing=standing("hold", "disk swap", NOW + MINUTE)))
    ) == Timed(Phase.HELD, details, 60)


@pytest.mark.rule("rule 19")
@pytest.mark.parametrize("state", [TargetState.EXPIRED, TargetState.WAITING])
def test_target_that_fails_again_restarts_its_healthy_delay(state: TargetState) -> None:
    again = request_of(FIRST, healthy_since=NOW - MINUTE)
    result = move(seen(again, state=state))
    assert annotations_of(result) == {HEALTHY_DELAY: None}


ALONE: dict[str, Any] = {"standing": standing("abort", "maintenance")}


@pytest.mark.rule("rule 40")
@pytest.mark.parametrize("state", [TargetState.EXPIRED, TargetState.WAITING, TargetState.UNKNOWN])
@pytest.mark.parametrize(
    "request_", [AT_WORK, FAILED, request_of(FIRST, 6 * MINUTE)], ids=["at work", "failed", "timed out"]
)
def test_abort_cleans_up_whatever_runs(state: TargetState, request_: RequestSnapshot) -> None:
    memory = replace(ACTED, standing=(*ALONE["standing"], *BY_A_PERSON["standing"]), starts_over=NewStart())
    assert move(seen(request_, state=state, hold=HOLD), memory) == RemoveRequests(
        Details(order="left alone: maintenance")
    )


@pytest.mark.rule("rule 40/exhausted")
@pytest.mark.parametrize(("name", "step"), [("", 0), ("reset", 1), ("replace", 2), ("no longer listed", 0)])
def test_resume_cleans_up_and_begins_with_the_first_step_or_the_named_one(name: str, step: int) -> None:
    tried = seen(*with_steps_tried(*ESCALATION))
    ordered = replace(learned(ACTED, tried, NOW), starts_over=NewStart(first_step=name))
    assert move(tried, ordered) == RemoveRequests(
        Details(reason="it is Expired", order="starts over by order")
    )
    cleaned = ordered.after_clean_up(LeftBehind(), (), NOW)
    assert move(seen(), cleaned) == TakeStep(step, ADMITTED, because("it is Expired"))


@pytest.mark.rule("rule 40/exhausted")
def test_resume_waits_for_what_a_finalizer_keeps() -> None:
    tried = with_steps_tried(*ESCALATION)
    ordered = replace(learned(ACTED, seen(*tried), NOW), starts_over=NewStart())
    kept = ordered.after_clean_up(hanging(tried[0].reference), tried[:1], NOW)
    rest = move(seen(tried[0]), kept)
    assert isinstance(rest, Wait)
    assert rest.phase is Phase.CLEANING_UP
    assert isinstance(move(seen(tried[0]), kept, NOW + MINUTE), RemoveRequests)
    assert isinstance(move(seen(), kept), RemoveRequests)


@pytest.mark.rule("rule 7")
def test_hold_of_the_check_has_the_words_of_the_detector() -> None:
    result = move(seen(FAILED, hold=HOLD))
    assert isinstance(result, Wait)
    assert str(HOLD) in str(result.details)
    assert result.phase is Phase.HELD
    assert timer_of(result) == 5 * 60


OLD_REQUEST = request_of(FIRST, age=OLD)
"""A request that would be flagged as old."""
HELD = replace(ACTED, standing=standing("hold"))
DELETES_AGAIN_LATER: dict[str, Any] = {"clean_up_at": NOW + MINUTE, "cleaned_up": (OLD_REQUEST.uid,)}


def waits(observation: Observation, memory: Memory) -> Wait:
    result = next_move(observation, memory, NOW)
    assert isinstance(result, Wait), result
    return result


@pytest.mark.parametrize(
    ("observation", "memory"),
    [
        pytest.param(
            seen(OLD_REQUEST, state=TargetState.HEALTHY, counts_as_healthy=False),
            ACTED,
            id="the target does not count as healthy yet",
        ),
        pytest.param(seen(OLD_REQUEST, under_way="it is being deleted"), ACTED, id="the target is deleted"),
        pytest.param(
            seen(OLD_REQUEST),
            replace(ACTED, starts_over=NewStart(), **DELETES_AGAIN_LATER),
            id="the incident starts over",
        ),
        pytest.param(
            seen(OLD_REQUEST),
            replace(ACTED, standing=standing("abort"), **DELETES_AGAIN_LATER),
            id="the target is left alone",
        ),
    ],
)
def test_old_request_gets_no_annotation(observation: Observation, memory: Memory) -> None:
    assert waits(observation, memory).phase in (Phase.REMEDIATING, Phase.CLEANING_UP)


def test_target_that_is_left_alone_has_no_timer() -> None:
    memory = Memory(standing=standing("abort"), spent=(FIRST.template,))
    assert waits(seen(), memory).until == ()


def test_hold_does_not_change_what_a_target_that_is_no_longer_unhealthy_waits_for() -> None:
    observation = seen(OLD_REQUEST, state=TargetState.HEALTHY, counts_as_healthy=False)
    assert waits(observation, HELD).next_transition.what == "when its remediator is done"


def test_check_without_steps_is_not_exhausted_before_it_tried_one() -> None:
    wait = waits(seen(steps=()), Memory())
    assert (wait.phase, NOTHING_TO_ACT_ON in str(wait.details)) == (Phase.HELD, True)
