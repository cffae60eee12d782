"""A step waits until the request before it is marked as timed out, with a limit, and reports the wait."""

from datetime import timedelta

import pytest

from health.model.moves import AnnotateRequests, Move, Phase, TakeStep, Wait
from health.model.remediation_request import GREW_OLD, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import TaskSubject
from health.runbook.decide import next_move
from health.runbook.failures import MaintenanceTask, TaskFailure
from health.runbook.incident import STOP_PATIENCE
from health.runbook.learn import learned
from health.runbook.state import Memory
from tests.support.values.builders import FIRST, HOLD, MINUTE, NOW, SECOND, request_of, seen
from tests.support.values.memories import ACTED, timer_of, with_lease

pytestmark = pytest.mark.rule("rule 47", "NHC 1.7/nhc-timed-out")

FAILED_STEP = request_of(FIRST, succeeded=False)
MOMENT = timedelta(seconds=1)
PATIENT = with_lease(ACTED, renew_at=NOW + 60 * MINUTE)


def stop_of(request: RequestSnapshot) -> TaskSubject:
    return TaskSubject.of_annotations(request.uid, [TIMED_OUT])


def unannotated(of: RequestSnapshot = FAILED_STEP, *, is_refused: bool = False) -> Memory:
    """The memory of an incident whose first try to stop a remediator failed just now."""
    failure = TaskFailure(subject=stop_of(of), what="annotate it", why="no", is_refused=is_refused)
    return PATIENT.after_attempt(MaintenanceTask.ANNOTATE, {stop_of(of)}, [failure], NOW, 1)


def move_after(time: timedelta, memory: Memory, *requests: RequestSnapshot) -> Move:
    """The next move, after the tries in between have failed as well."""
    now, look = NOW + time, seen(*(requests or (FAILED_STEP,)))
    failing = TaskFailure(subject=stop_of(FAILED_STEP), what="annotate it", why="no")
    move = next_move(look, learned(memory, look, now), now)
    if not isinstance(move, AnnotateRequests):
        return move
    after = learned(memory, look, now).after_attempt(
        MaintenanceTask.ANNOTATE, {stop_of(FAILED_STEP)}, [failing], now, 1
    )
    return next_move(look, after, now)


@pytest.mark.parametrize("is_refused", [False, True], ids=["500", "400, 403 or 422"])
def test_next_step_waits_for_a_minute_and_no_longer(*, is_refused: bool) -> None:
    memory = unannotated(is_refused=is_refused)
    for time in (timedelta(), MOMENT, STOP_PATIENCE - MOMENT):
        waiting = move_after(time, memory)
        assert isinstance(waiting, Wait)
        assert waiting.phase is Phase.HELD
        assert "waits until 2026-03-01T12:01:00Z" in str(waiting.details)
        seconds = timer_of(waiting, NOW + time)
        assert seconds is not None
        assert 0 < seconds <= STOP_PATIENCE.total_seconds()
    assert isinstance(move_after(STOP_PATIENCE, memory), TakeStep)


def test_mark_is_tried_again_meanwhile() -> None:
    look = seen(FAILED_STEP)
    assert isinstance(next_move(look, unannotated(), NOW + 2 * MOMENT), AnnotateRequests)


def test_next_step_waits_for_no_request_that_is_annotated_or_succeeded() -> None:
    told = request_of(FIRST, succeeded=False, timed_out_at=NOW)
    assert isinstance(move_after(timedelta(), unannotated(), told), TakeStep)
    succeeded = request_of(FIRST, 6 * MINUTE, succeeded=True)
    assert isinstance(move_after(timedelta(), unannotated(), succeeded), TakeStep)


def test_other_mark_of_the_request_that_failed_for_long_puts_the_stop_off_no_longer() -> None:
    old, now = TaskSubject.of_annotations(FAILED_STEP.uid, [GREW_OLD]), NOW + 10 * MINUTE
    failure = TaskFailure(subject=old, what="annotate it", why="no")
    memory = PATIENT.after_attempt(MaintenanceTask.ANNOTATE, {old}, [failure], NOW, 1)
    again = memory.after_attempt(MaintenanceTask.ANNOTATE, {old}, [failure], now, 1)
    move = next_move(seen(FAILED_STEP), learned(again, seen(FAILED_STEP), now), now)
    assert isinstance(move, AnnotateRequests)
    assert [list(mark.annotations) for mark in move.patches] == [[TIMED_OUT]]


def test_mark_of_another_request_that_failed_is_not_waited_for() -> None:
    told = request_of(FIRST, succeeded=False, timed_out_at=NOW)
    assert isinstance(move_after(timedelta(), unannotated(request_of(SECOND)), told), TakeStep)


def test_hold_of_the_detector_outlasts_the_wait() -> None:
    now = NOW + 2 * STOP_PATIENCE
    held = seen(FAILED_STEP, hold=HOLD)
    assert isinstance(
        next_move(held, unannotated().resting(now), now),
        AnnotateRequests | Wait,
    )
    tried = unannotated().after_attempt(
        MaintenanceTask.ANNOTATE,
        {stop_of(FAILED_STEP)},
        [TaskFailure(subject=stop_of(FAILED_STEP), what="", why="")],
        now,
        1,
    )
    waiting = next_move(held, tried, now)
    assert isinstance(waiting, Wait)
    assert "5 of 10 unhealthy" in str(waiting.details)
