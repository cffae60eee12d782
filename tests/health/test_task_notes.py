"""A failed maintenance task is noted and retried with a back-off until it succeeds."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.task_subject import OF_LEASE, TaskSubject
from health.runbook.failures import (
    FORBIDDEN_GRACE,
    RETRIES,
    MaintenanceTask,
    TaskFailure,
    TaskNote,
    after_attempt,
    retry_delay,
    still_ahead,
)
from health.runbook.incident import Incident
from health.runbook.state import Memory
from tests.support.values.builders import NOW, seen

pytestmark = pytest.mark.rule("rule 47")

SECOND = timedelta(seconds=1)
SPREADS = st.floats(0, 1)
A = TaskSubject.of_request("a")
SUBJECTS = st.sampled_from([OF_LEASE, A, TaskSubject.of_request("b"), TaskSubject.of_annotations("a", ["b"])])


def failure(subject: TaskSubject = A, **fields: object) -> TaskFailure:
    base = TaskFailure(subject=subject, what="delete a", why="failed calling webhook")
    return base.model_copy(update=fields)


def noted(*failures: TaskFailure, notes: tuple[TaskNote, ...] = (), after: float = 0) -> TaskNote:
    """The note of `a` after one more attempt, so many seconds after NOW."""
    now = NOW + timedelta(seconds=after)
    return next(
        note
        for note in after_attempt(
            notes, task=MaintenanceTask.CLEAN_UP, tried={A}, failures=failures, now=now, spread=1
        )
        if note.subject == A
    )


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 2), (2, 4), (3, 8), (4, 16), (7, 128), (8, 256), (9, 300), (10, 300), (10**6, 300)],
)
def test_wait_grows_from_two_seconds_to_five_minutes(failures: int, seconds: float) -> None:
    assert retry_delay(failures, 0, 1).total_seconds() == seconds
    assert retry_delay(failures, 0, 0).total_seconds() == seconds / 2


@given(failures=st.integers(1, 10**9), told=st.floats(-1e9, 1e300), spread=SPREADS)
def test_wait_is_bounded_on_both_sides_and_never_shorter_than_told(
    failures: int, told: float, spread: float
) -> None:
    delay = retry_delay(failures, told, spread)
    assert RETRIES.first / 2 <= delay <= 2 * RETRIES.longest
    assert delay >= min(timedelta(seconds=min(max(told, 0), 1e6)), RETRIES.longest)


@given(failures=st.integers(1, 20), spreads=st.lists(SPREADS, min_size=2, max_size=2, unique=True))
def test_incidents_that_failed_together_are_spread(failures: int, spreads: list[float]) -> None:
    first, second = sorted(spreads)
    assert retry_delay(failures, 0, first) <= retry_delay(failures, 0, second)
    if second - first > 0.001:  # below that a timedelta rounds
        assert retry_delay(failures, 0, first) < retry_delay(failures, 0, second)


@given(
    noted_before=st.sets(SUBJECTS),
    tried=st.sets(SUBJECTS),
    failed=st.sets(SUBJECTS),
    task=st.sampled_from(MaintenanceTask),
)
def test_attempt_decides_of_what_was_tried_and_of_nothing_else(
    noted_before: set[TaskSubject], tried: set[TaskSubject], failed: set[TaskSubject], task: MaintenanceTask
) -> None:
    before = after_attempt(
        (),
        task=MaintenanceTask.ANNOTATE,
        tried=noted_before,
        failures=map(failure, sorted(noted_before, key=str)),
        now=NOW,
        spread=0,
    )
    failures = [failure(subject) for subject in sorted(failed & tried, key=str)]
    after = after_attempt(before, task=task, tried=tried, failures=failures, now=NOW + SECOND, spread=0)

    kept = {
        (MaintenanceTask.ANNOTATE, subject)
        for subject in noted_before
        if task is not MaintenanceTask.ANNOTATE or subject not in tried
    }
    assert {(note.task, note.subject) for note in after} == kept | {
        (task, subject) for subject in failed & tried
    }
    assert len({(note.task, note.subject) for note in after}) == len(after)
    assert all(note in after for note in before if (note.task, note.subject) in kept)


def test_failures_in_a_row_are_counted_from_the_first_and_the_latest_is_reported() -> None:
    first = noted(failure())
    second = noted(failure(why="timeout"), notes=(first,), after=2)
    third = noted(failure(), notes=(second,), after=6)
    assert [note.failures for note in (first, second, third)] == [1, 2, 3]
    assert {note.since for note in (first, second, third)} == {NOW}
    assert second.why == "timeout"
    assert third.next_try == NOW + timedelta(seconds=6 + 8)


def test_row_ends_with_what_was_done() -> None:
    done = after_attempt(
        (noted(failure()),), task=MaintenanceTask.CLEAN_UP, tried={A}, failures=(), now=NOW, spread=0
    )
    assert done == ()
    assert noted(failure(), notes=done, after=60).failures == 1


def test_api_server_that_says_when_is_not_asked_before() -> None:
    assert noted(failure(wait_seconds=40)).next_try == NOW + timedelta(seconds=42)


def test_task_is_put_off_until_its_next_try_and_no_other_is() -> None:
    memory = Memory(notes=(noted(failure()),))
    (note,) = memory.notes
    early, due = (Incident.of(seen(), memory, at) for at in (note.next_try - SECOND, note.next_try))
    assert set(early.put_off) == {(MaintenanceTask.CLEAN_UP, A)}
    assert not due.put_off


@pytest.mark.rule("rule 47/403")
def test_right_is_missing_after_half_a_minute_of_403_and_not_before() -> None:
    first = noted(failure(is_refused=True))
    grace = FORBIDDEN_GRACE.total_seconds()
    assert not first.is_refused_for_long
    early = noted(failure(is_refused=True), notes=(first,), after=grace - 0.001)
    assert not early.is_refused_for_long
    late = noted(failure(is_refused=True), notes=(early,), after=grace)
    assert late.is_refused_for_long
    assert "a right is missing" in str(late)
    assert "a right is missing" not in str(early)


@pytest.mark.rule("rule 47/403")
def test_another_failure_begins_the_half_minute_anew() -> None:
    first = noted(failure(is_refused=True))
    other = noted(failure(), notes=(first,), after=20)
    assert not other.is_refused_for_long
    again = noted(failure(is_refused=True), notes=(other,), after=40)
    assert not again.is_refused_for_long
    assert (again.since, again.failures) == (NOW, 3)
    assert noted(failure(is_refused=True), notes=(again,), after=70).is_refused_for_long


def test_note_says_what_and_why_and_when_it_is_tried_again() -> None:
    assert str(noted(failure())) == (
        "cannot delete a: failed calling webhook (tried again at 2026-03-01T12:00:02Z)"
    )


@given(after=st.floats(0, 700))
def test_due_task_that_was_not_tried_is_no_reason_to_wake(after: float) -> None:
    note, now = noted(failure()), NOW + timedelta(seconds=after)
    assert still_ahead([note], now) == ((note,) if now < note.next_try else ())
