"""Users' orders in the middle of a remediation: abort, resume, and the message of a hold."""

from dataclasses import replace
from typing import Any

import pytest

from health.model.details import Details
from health.model.moves import Phase, RemoveRequests, TakeStep, Wait
from health.model.observation import TargetState
from health.model.request_snapshot import RequestSnapshot
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.memory_parts import NewStart
from tests.support.values.builders import (
    ADMITTED,
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
from tests.support.values.memories import ACTED, because, move, standing, timer_of

BY_A_PERSON: dict[str, Any] = {"standing": standing("hold", "disk swap")}
ALONE: dict[str, Any] = {"standing": standing("abort", "maintenance")}
AT_WORK, FAILED = request_of(FIRST), request_of(FIRST, succeeded=False, timed_out_at=NOW)


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
