"""The steps of a remediation: the first, the next one after a loss, and the stop of the one before."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.admission import Admission
from health.model.moves import (
    LONGEST_WAIT,
    AnnotateRequests,
    AnnotationPatch,
    Move,
    Phase,
    RecordStep,
    RenewLease,
    TakeStep,
    Wait,
)
from health.model.observation import Hold, HoldReason
from health.model.references import Step
from health.model.remediation_request import GREW_OLD, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import TaskSubject
from health.runbook.decide import next_move
from health.runbook.failures import MaintenanceTask, TaskFailure
from health.runbook.incident import STOP_PATIENCE
from health.runbook.learn import learned
from health.runbook.memory_parts import Loss
from health.runbook.state import Memory
from health.runbook.words import NO_WORD_OF_ADMISSION
from objects.timestamps import stamp
from tests.support.values.builders import (
    ADMITTED,
    CLASSIC,
    ESCALATION,
    FIRST,
    HOLD,
    MINUTE,
    NOW,
    SECOND,
    THIRD,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import (
    ACTED,
    AN_INSTANT,
    Timed,
    annotations_of,
    because,
    move,
    timed,
    timer_of,
    with_lease,
)

AT_WORK, FAILED = request_of(FIRST), request_of(FIRST, succeeded=False, timed_out_at=NOW)
IN_VAIN = request_of(FIRST, 5 * MINUTE + AN_INSTANT, succeeded=True)
WORKING_TIME = {FIRST: 300, SECOND: 120, THIRD: 600}


@pytest.mark.rule("NHC 2.4/6/timeout", "rule 1")
def test_step_rests_until_just_after_its_timeout() -> None:
    short = with_lease(ACTED, renew_at=NOW + 60 * MINUTE)
    for step, seconds in WORKING_TIME.items():
        result = move(seen(request_of(step)), short)
        assert isinstance(result, Wait)
        assert result.phase is Phase.REMEDIATING
        assert timer_of(result) == seconds + AN_INSTANT.total_seconds()


@pytest.mark.rule("NHC 1.7/nhc-timed-out", "NHC 2.4/6/timeout")
def test_step_that_timed_out_is_marked_before_the_next_one_begins() -> None:
    over = request_of(FIRST, 5 * MINUTE + AN_INSTANT)
    first = move(seen(over))
    assert isinstance(first, AnnotateRequests)
    assert first.patches == (AnnotationPatch(request=over.reference, annotations={TIMED_OUT: stamp(NOW)}),)
    assert move(seen(over), ACTED.after_annotation(first.patches)) == TakeStep(
        1, ADMITTED, because("it is Expired")
    )


@pytest.mark.rule(
    "NHC 2.4/6/failed", "NHC 2.4/6/succeeded", "NHC 2.7/Succeeded", "NHC 2.4/2", "NHC 2.4/6/kept"
)
@pytest.mark.rule("rule 10/steps", "rule 22")
@pytest.mark.parametrize(
    ("requests", "steps", "following"),
    [
        pytest.param([FAILED], ESCALATION, 1, id="it failed"),
        pytest.param([IN_VAIN], ESCALATION, 1, id="it succeeded in vain, without a mark"),
        pytest.param(with_steps_tried(FIRST, SECOND), ESCALATION, 2, id="two failed"),
        pytest.param([FAILED], (THIRD, FIRST), 0, id="a new list, before"),
        pytest.param([FAILED], (FIRST, THIRD), 1, id="a new list, after"),
        pytest.param([FAILED], (THIRD,), 0, id="a new list without it"),
    ],
)
def test_next_step_is_the_first_of_the_list_that_was_not_tried(
    requests: list[RequestSnapshot], steps: tuple[Step, ...], following: int
) -> None:
    assert move(seen(*requests, steps=steps)) == TakeStep(following, ADMITTED, because("it is Expired"))


@pytest.mark.rule("NHC 2.4/6/succeeded", "NHC 2.7/Succeeded", "rule 10/steps", "rule 22")
@pytest.mark.parametrize(
    ("request_", "steps"),
    [
        pytest.param(request_of(FIRST, 5 * MINUTE, succeeded=True), ESCALATION, id="succeeded in vain"),
        pytest.param(AT_WORK, (SECOND, THIRD), id="a new list"),
        pytest.param(request_of(CLASSIC[0], succeeded=False), CLASSIC, id="the only one, failed"),
    ],
)
def test_running_step_keeps_its_request(request_: RequestSnapshot, steps: tuple[Step, ...]) -> None:
    result = move(seen(request_, steps=steps))
    assert isinstance(result, Wait)
    assert result.phase is Phase.REMEDIATING
    failed = "; Reboot/remediators/node-1 failed" if steps == CLASSIC else ""
    assert str(result.details).endswith(failed)


@pytest.mark.rule("NHC 2.4/6/failed", "rule 22")
def test_step_that_failed_is_marked_at_once() -> None:
    assert annotations_of(move(seen(request_of(FIRST, succeeded=False)))) == {TIMED_OUT: stamp(NOW)}


@pytest.mark.rule("NHC 2.4/2/none left", "rule 40/exhausted")
def test_without_a_step_left_it_waits_for_resume() -> None:
    result = move(seen(*with_steps_tried(*ESCALATION)))
    assert isinstance(result, Wait)
    assert result.phase is Phase.EXHAUSTED
    assert str(result.details).endswith("no template left to try")


@pytest.mark.rule("NHC 2.4/6/timeout", "NHC 2.4/2/none left")
def test_last_step_is_marked_as_timed_out_too() -> None:
    last = request_of(THIRD, 10 * MINUTE + AN_INSTANT)
    result = move(seen(*with_steps_tried(FIRST, SECOND), last))
    assert isinstance(result, AnnotateRequests)
    assert result.phase is Phase.EXHAUSTED
    assert [mark.request for mark in result.patches] == [last.reference]


@pytest.mark.rule("NHC 2.4/2/none left")
def test_exhausted_incident_no_longer_renews_the_lease() -> None:
    due = with_lease(ACTED, renew_at=NOW)
    assert isinstance(move(seen(*with_steps_tried(*ESCALATION)), due), Wait)
    assert isinstance(move(seen(*with_steps_tried(FIRST, SECOND), hold=HOLD), due), RenewLease)


@pytest.mark.rule("NHC 2.4/2")
def test_step_whose_request_a_user_deleted_after_its_turn_is_not_taken_again() -> None:
    after = learned(ACTED, seen(FAILED), NOW)
    assert move(seen(), after) == TakeStep(1, ADMITTED, because("it is Expired"))
    at_work = seen(request_of(SECOND))
    assert timed(move(at_work, after)) == timed(move(at_work, ACTED))


@pytest.mark.rule("rule 10/steps", "rule 40/exhausted")
def test_step_that_is_added_ends_an_exhaustion() -> None:
    exhausted = learned(ACTED, seen(FAILED, steps=(FIRST,)), NOW)
    assert move(seen(FAILED, steps=(FIRST, SECOND)), exhausted) == TakeStep(
        1, ADMITTED, because("it is Expired")
    )


@pytest.mark.rule("rule 10/edit")
def test_edited_timeout_counts_from_the_start_of_the_request() -> None:
    request = request_of(FIRST, 2 * MINUTE)
    shorter = FIRST.model_copy(update={"timeout_seconds": 60})
    assert TIMED_OUT in annotations_of(move(seen(request, steps=(shorter, SECOND))))


LIMIT = timedelta(minutes=30)
LIMITED = Admission(policy_limits="maxInFlight=1")
ADMITTED_STEP = seen(admission=LIMITED, back_off_limit_seconds=LIMIT.total_seconds())


def lost(number: int, at: datetime = NOW) -> Memory:
    """The memory of an incident that lost a request, which was the `number`th attempt in a row."""
    return Memory(loss=Loss(at=at, attempt=number))


def test_admitted_step_is_taken() -> None:
    tried = Memory(spent=(FIRST.template, SECOND.template))
    assert next_move(ADMITTED_STEP, tried, NOW) == TakeStep(2, LIMITED, because("it is Expired"))


@pytest.mark.parametrize("reason", list(HoldReason))
def test_held_target_waits_as_long_as_the_detector_says(reason: HoldReason) -> None:
    held = seen(hold=Hold(reason=reason, message="no", ask_again_seconds=42))
    result = next_move(held, Memory(), NOW)
    assert timed(result) == Timed(Phase.HELD, f"it is Expired; {reason}: no (asks again in 42s)", 42)


@pytest.mark.rule("rule 14", "rule 49")
@pytest.mark.parametrize("reason", [*HoldReason, None])
def test_resume_skips_nothing_by_itself_as_the_detector_skips_the_back_off_of_its_next_question(
    reason: HoldReason | None,
) -> None:
    held = seen(hold=Hold(reason=reason or HoldReason.BACK_OFF, message="no"))
    answer = held if reason else held.model_copy(update={"hold": None})
    assert isinstance(next_move(answer, Memory(skips_back_off=True), NOW), Wait)


@pytest.mark.rule("rule 14")
@pytest.mark.parametrize("reason", list(HoldReason))
def test_resume_in_shadow_skips_the_wait_between_two_attempts_and_nothing_else(reason: HoldReason) -> None:
    held = seen(hold=Hold(reason=reason, message="no"))
    result = next_move(held, Memory(is_shadow=True, skips_back_off=True), NOW)
    skipped = (HoldReason.BACK_OFF, HoldReason.NO_ADMISSION)
    assert isinstance(result, RecordStep) is (reason in skipped)


@pytest.mark.rule("rule 49")
def test_step_without_an_admission_is_not_taken_though_nothing_holds_it() -> None:
    older = seen(admission=None)
    result = next_move(older, Memory(), NOW)
    assert timed(result) == Timed(Phase.HELD, f"it is Expired; {NO_WORD_OF_ADMISSION}", 60)


@pytest.mark.rule("rule 49")
def test_incident_whose_question_did_not_ask_to_act_asks_again_in_a_second() -> None:
    result = next_move(seen().without_admission(), Memory(), NOW)
    assert timer_of(result) == 1


@pytest.mark.rule("rule 14", "rule 14/deleted request")
@pytest.mark.parametrize(
    ("earlier", "number", "minutes"),
    [
        pytest.param(0, 1, 1, id="the first"),
        pytest.param(0, 2, 2, id="the second"),
        pytest.param(0, 3, 4, id="the third"),
        pytest.param(0, 9, 30, id="no longer than the limit"),
        pytest.param(1, 2, 2, id="after an earlier incident"),
        pytest.param(2, 5, 16, id="after two"),
        pytest.param(2, 2, 2, id="the detector knows of it too: it counts once"),
        pytest.param(3, 1, 4, id="the detector knows of later ones"),
    ],
)
def test_next_one_waits_as_if_the_incident_had_ended_with_the_loss(
    earlier: int, number: int, minutes: int
) -> None:
    observation = ADMITTED_STEP.model_copy(update={"earlier_attempts": earlier})
    due = NOW + minutes * MINUTE
    result = next_move(observation, lost(number), NOW)
    words = (
        f"BackOff: its request was removed by another actor, the next one is due at {due:%Y-%m-%dT%H:%M:%SZ}"
    )
    assert timed(result) == Timed(Phase.HELD, f"it is Expired; {words}", minutes * 60)
    assert isinstance(next_move(observation, lost(number), due - timedelta(microseconds=1)), Wait)
    assert isinstance(next_move(observation, lost(number), due), TakeStep)


@pytest.mark.rule("rule 14/limit")
def test_without_a_limit_nothing_waits() -> None:
    assert isinstance(next_move(seen(back_off_limit_seconds=0), lost(5), NOW), TakeStep)


@pytest.mark.rule("rule 14")
def test_resume_skips_the_wait_after_a_loss() -> None:
    memory = replace(lost(5), skips_back_off=True)
    assert isinstance(next_move(ADMITTED_STEP, memory, NOW), TakeStep)


@given(number=st.integers(1, 20_000), earlier=st.integers(0, 10_000), limit=st.integers(0, 10**7))
def test_wait_after_a_loss_has_an_end(number: int, earlier: int, limit: int) -> None:
    observation = seen(back_off_limit_seconds=limit, earlier_attempts=earlier)
    result = next_move(observation, lost(number), NOW)
    assert isinstance(next_move(observation, lost(number), NOW + timedelta(seconds=limit)), TakeStep)
    if isinstance(result, Wait):
        seconds = timer_of(result)
        assert seconds is not None
        assert 0 < seconds <= min(limit, LONGEST_WAIT.total_seconds())


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
