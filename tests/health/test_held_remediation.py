"""A hold in the middle of a remediation stops the next step, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from health.model.moves import Phase, ReleaseLease, RenewLease, Wait
from health.model.observation import Hold, HoldReason, TargetState
from health.model.remediation_request import GREW_OLD, HEALTHY_DELAY, TIMED_OUT
from health.runbook.deadlines import OLD
from health.runbook.learn import learned
from tests.support.values.builders import CLASSIC, FIRST, HOLD, MINUTE, NOW, request_of, seen
from tests.support.values.memories import (
    ACTED,
    Timed,
    annotations_of,
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
