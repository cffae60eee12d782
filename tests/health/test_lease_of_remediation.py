"""The Lease of a remediation: how long it is held, renewed and when it is overdue."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import (
    AnnotateRequests,
    Phase,
    ReleaseLease,
    RenewLease,
    TakeStep,
    Wait,
)
from health.model.references import Step
from health.model.remediation_request import GREW_OLD, GREW_OLD_FLAG, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import TaskSubject
from health.runbook.deadlines import OLD
from health.runbook.escalation import Plan, lease_duration
from health.runbook.failures import MaintenanceTask, TaskFailure
from health.runbook.incident import becomes_overdue_at
from health.runbook.learn import learned
from health.runbook.memory_parts import LeaseMemory
from health.runbook.state import Memory
from objects.durations import JUST_AFTER
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


@pytest.mark.rule("NHC 2.1/17/48 h", "rule 23")
def test_request_is_flagged_once_after_48_hours() -> None:
    endless = (CLASSIC[0].model_copy(update={"timeout_seconds": 10 * OLD.total_seconds()}),)
    patient = with_lease(ACTED, renew_at=NOW + 10 * OLD, duration_seconds=10 * OLD.total_seconds())
    young = move(seen(request_of(CLASSIC[0], OLD - MINUTE), steps=endless), patient)
    assert isinstance(young, Wait)
    assert timer_of(young) == 60
    old = request_of(CLASSIC[0], OLD)
    due = move(seen(old, steps=endless), patient)
    assert annotations_of(due) == {GREW_OLD: GREW_OLD_FLAG}
    assert isinstance(due, AnnotateRequests)
    assert isinstance(move(seen(old, steps=endless), patient.after_annotation(due.patches)), Wait)


@pytest.mark.rule("NHC 2.5/manage/renew")
def test_wait_is_over_for_a_renewal_only_if_nothing_else_is_due() -> None:
    renews, times_out = NOW + 2 * MINUTE, NOW + timedelta(seconds=FIRST.timeout_seconds or 0)
    wait = move(seen(request_of(FIRST)), with_lease(ACTED, renew_at=renews))
    assert isinstance(wait, Wait)
    assert not wait.is_over_for_renewal(renews - AN_INSTANT)
    assert wait.is_over_for_renewal(renews)

    renewed = wait.with_next_renewal(times_out)
    assert not renewed.is_over_for_renewal(times_out - AN_INSTANT)
    assert renewed.is_over_for_renewal(times_out)
    assert not renewed.is_over_for_renewal(times_out + JUST_AFTER)
    assert wait.with_next_renewal(None).requeue_after(NOW) == times_out + JUST_AFTER - NOW


@pytest.mark.rule("NHC 2.5/overdue")
def test_lease_that_says_another_time_than_is_known_is_read_again_once() -> None:
    patient = with_lease(ACTED, renew_at=NOW + 60 * MINUTE)
    rewritten = seen(AT_WORK, lease_acquired_at=NOW - 60 * MINUTE)
    memory = learned(patient, rewritten, NOW)
    assert isinstance(move(rewritten, memory), RenewLease)
    read = with_lease(memory, renew_at=NOW + 5 * MINUTE)
    assert isinstance(move(rewritten, learned(read, rewritten, NOW)), Wait)
    known = seen(AT_WORK, lease_acquired_at=NOW)
    assert isinstance(move(known, learned(patient, known, NOW)), Wait)


@pytest.mark.rule("NHC 2.5/manage/renew")
def test_lease_is_renewed_when_it_is_due_and_not_before() -> None:
    assert isinstance(move(seen(AT_WORK)), Wait)
    assert isinstance(move(seen(AT_WORK), now=NOW + 5 * MINUTE), RenewLease)


@pytest.mark.rule("rule 13/overdue", "rule 47")
def test_overdue_lease_stays_for_a_minute_where_the_remediator_cannot_be_stopped() -> None:
    late, stop = (
        NOW + 15 * MINUTE + AN_INSTANT,
        TaskSubject.of_annotations(request_of(FIRST).uid, [TIMED_OUT]),
    )
    failure = TaskFailure(subject=stop, what="annotate it", why="500")
    memory = with_lease(ACTED, renew_at=late).after_attempt(
        MaintenanceTask.ANNOTATE, {stop}, [failure], late, 1
    )
    running = seen(request_of(FIRST, late - NOW), hold=HOLD)
    assert isinstance(move(running, memory, late), Wait), "neither given back nor renewed"
    later = memory.after_attempt(MaintenanceTask.ANNOTATE, {stop}, [failure], late + MINUTE, 1)
    assert isinstance(move(running, later, late + MINUTE), ReleaseLease)


CLASSIC_ACTED = with_lease(ACTED, duration_seconds=600.0, renew_at=NOW + 60 * MINUTE)


@pytest.mark.rule("NHC 2.5/overdue", "NHC 2.8/overdue", "rule 13/overdue")
def test_overdue_classic_remediation_is_marked_and_gives_its_lease_back_and_then_rests() -> None:
    at_work = request_of(CLASSIC[0])
    in_time = move(seen(at_work, steps=CLASSIC), CLASSIC_ACTED, NOW + 30 * MINUTE)
    assert timed(in_time, NOW + 30 * MINUTE) == Timed(
        Phase.REMEDIATING, "it is Expired; Reboot/remediators/node-1 exists", 0.001
    )

    late = NOW + 30 * MINUTE + AN_INSTANT
    mark = move(seen(at_work, steps=CLASSIC), CLASSIC_ACTED, late)
    assert annotations_of(mark) == {TIMED_OUT: stamp(late)}
    assert isinstance(mark, AnnotateRequests)

    marked_memory = CLASSIC_ACTED.after_annotation(mark.patches)
    assert isinstance(move(seen(at_work, steps=CLASSIC), marked_memory, late), ReleaseLease)

    given_back = marked_memory.after_release()
    rest = move(seen(at_work, steps=CLASSIC), given_back, late)
    assert isinstance(rest, Wait)
    assert rest.phase is Phase.EXHAUSTED
    assert timer_of(rest, late) == (at_work.created + OLD - late).total_seconds()


@pytest.mark.rule("NHC 2.5/overdue")
def test_overdue_request_that_succeeded_gives_the_lease_back_without_a_mark() -> None:
    late = NOW + 31 * MINUTE
    done = request_of(CLASSIC[0], succeeded=True)
    assert isinstance(move(seen(done, steps=CLASSIC), CLASSIC_ACTED, late), ReleaseLease)
    rest = move(seen(done, steps=CLASSIC), CLASSIC_ACTED.after_release(), late)
    assert isinstance(rest, Wait)
    assert rest.phase is Phase.REMEDIATING


@pytest.mark.rule("NHC 2.5/overdue")
def test_lease_that_was_given_back_is_not_renewed() -> None:
    given_back = with_lease(CLASSIC_ACTED.after_release(), renew_at=NOW)
    assert isinstance(move(seen(request_of(CLASSIC[0]), steps=CLASSIC), given_back), Wait)


@pytest.mark.rule("NHC 2.5/overdue")
def test_step_that_is_held_for_too_long_gives_the_lease_back_and_the_next_one_takes_it_anew() -> None:
    late = NOW + 15 * MINUTE + AN_INSTANT
    waiting = request_of(FIRST, timed_out_at=NOW)
    assert isinstance(move(seen(waiting, hold=HOLD), ACTED, late), ReleaseLease)
    given_back = ACTED.after_release()
    assert isinstance(move(seen(waiting, hold=HOLD), given_back, late), Wait)
    assert move(seen(waiting), given_back, late) == TakeStep(1, ADMITTED, because("it is Expired"))

    second = request_of(SECOND, NOW - late)
    acted = given_back.before_act(SECOND).after_request(SECOND, second, late, late)
    assert acted.lease.is_held
    assert acted.lease.acquired_at == late
    rest = move(seen(waiting, second), acted, late)
    assert isinstance(rest, Wait)
    assert timer_of(rest, late) == 60


def overdue_at(
    plan: Plan,
    latest: RequestSnapshot,
    acquired: datetime | None,
    duration: timedelta,
    made_under: datetime | None = None,
) -> datetime:
    lease = LeaseMemory(
        duration_seconds=duration.total_seconds(), acquired_at=acquired, request_acquired_at=made_under
    )
    overdue = becomes_overdue_at(seen(latest, steps=tuple(plan.steps)), Memory(lease=lease))
    assert overdue is not None
    return overdue


MOMENTS = st.integers(0, 10_000).map(lambda seconds: timedelta(seconds=seconds))


@pytest.mark.rule("NHC 2.5/overdue", "rule 13/overdue")
def test_classic_remediation_is_overdue_thirty_minutes_after_its_lease_was_taken() -> None:
    latest = request_of(CLASSIC[0])
    acquired = NOW - timedelta(milliseconds=20)
    late = overdue_at(Plan(CLASSIC), latest, acquired, 10 * MINUTE, made_under=acquired)
    assert late == NOW + 30 * MINUTE


@pytest.mark.rule("NHC 2.5/overdue")
@pytest.mark.parametrize(
    ("step", "minutes"),
    [
        pytest.param(FIRST, 3 * 5, id="first"),
        pytest.param(SECOND, 3 * 2 + 5, id="second"),
        pytest.param(THIRD, 3 * 10 + 7, id="third"),
    ],
)
def test_step_has_three_durations_and_the_timeouts_before_it(step: Step, minutes: int) -> None:
    before = Plan(ESCALATION).time_before(step)
    latest = request_of(step)
    late = overdue_at(Plan(ESCALATION), latest, NOW - before, lease_duration(step))
    assert late == NOW - before + minutes * MINUTE


@pytest.mark.rule("rule 39")
def test_without_a_known_lease_it_counts_from_the_creation_of_the_request() -> None:
    assert overdue_at(Plan(ESCALATION), request_of(SECOND), None, 2 * MINUTE) == NOW + 6 * MINUTE


@pytest.mark.rule("rule 10/steps")
def test_request_of_a_template_that_is_no_longer_listed_keeps_the_duration_of_its_lease() -> None:
    assert overdue_at(Plan((FIRST,)), request_of(THIRD), NOW, 60 * MINUTE) == NOW + 180 * MINUTE


@pytest.mark.rule("rule 9")
def test_request_that_was_made_anew_does_not_pay_for_the_one_that_was_deleted() -> None:
    acquired, latest = NOW - 29 * MINUTE, request_of(CLASSIC[0])
    late = overdue_at(Plan(CLASSIC), latest, acquired, 10 * MINUTE, made_under=acquired)
    assert late == NOW + 30 * MINUTE


@pytest.mark.rule("NHC 2.5/overdue", "rule 39")
@pytest.mark.parametrize("made_under", [None, NOW], ids=["it was found", "the Lease was rewritten"])
def test_request_counts_by_the_lease_alone(made_under: datetime | None) -> None:
    acquired, latest = NOW - 29 * MINUTE, request_of(CLASSIC[0])
    late = overdue_at(Plan(CLASSIC), latest, acquired, 10 * MINUTE, made_under=made_under)
    assert late == NOW + MINUTE


@given(step=st.sampled_from(ESCALATION), age=MOMENTS, held=MOMENTS)
def test_every_request_that_was_made_has_at_least_three_durations(
    step: Step, age: timedelta, held: timedelta
) -> None:
    latest, duration = request_of(step, age), lease_duration(step)
    acquired = latest.created - held
    late = overdue_at(Plan(ESCALATION), latest, acquired, duration, made_under=acquired)
    assert late >= latest.created + 3 * duration


@given(age=MOMENTS, held=MOMENTS)
def test_step_that_began_early_still_has_the_time_of_the_steps_before(
    age: timedelta, held: timedelta
) -> None:
    latest = request_of(SECOND, age)
    acquired = latest.created - held
    late = overdue_at(Plan(ESCALATION), latest, acquired, 2 * MINUTE, made_under=acquired)
    assert late >= acquired + 3 * 2 * MINUTE + 5 * MINUTE
