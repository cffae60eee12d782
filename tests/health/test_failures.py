"""Failed acts and failed maintenance tasks: their findings, their notes, and the waits between attempts."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.gate.admission import answered
from health.model.moves import Phase, TakeStep, Wait
from health.model.observation import Hold, HoldReason, Observation, TargetState, failed
from health.model.references import Action, Step
from health.model.task_subject import OF_LEASE, TaskSubject
from health.runbook.decide import next_move
from health.runbook.failures import (
    FORBIDDEN_GRACE,
    RETRIES,
    FailingActs,
    MaintenanceTask,
    TaskFailure,
    TaskNote,
    after_attempt,
    after_failure,
    finding,
    lasts,
    retry_delay,
    still_ahead,
)
from health.runbook.incident import Incident
from health.runbook.learn import learned
from health.runbook.state import Memory
from tests.support.values.builders import NOW, request_snapshot, seen
from tests.support.values.memories import HELD_LEASE, timer_of

SEEN = seen(generation=1, templates="t-1")
AWAY = failed("the API server is away")
FORBIDDEN = Hold(reason=HoldReason.REFUSED, message="403", ask_again_seconds=1.5)
INVALID = Hold(reason=HoldReason.REFUSED, message="422", ask_again_seconds=60)
SPREADS = st.floats(0, 1)


def row(hold: Hold, times: int, spread: float = 0) -> list[float]:
    """The waits of so many acts that were held by `hold`, in seconds."""
    failing: FailingActs | None = None
    now, waits = NOW, list[float]()
    for _ in range(times):
        failing = after_failure(failing, hold, SEEN, now, spread)
        assert failing is not None
        waits.append((failing.next_act - now).total_seconds())
        now = failing.next_act
    return waits


@pytest.mark.parametrize(
    ("hold", "waits"),
    [
        pytest.param(AWAY, [5, 10, 20, 40, 80, 160, 300, 300], id="failed"),
        pytest.param(FORBIDDEN, [1.5, 5, 10, 20, 40, 80, 160, 300], id="403"),
        pytest.param(INVALID, [60, 60, 60, 60, 60, 80, 160, 300], id="refused for good"),
    ],
)
def test_waits_grow_to_five_minutes(hold: Hold, waits: list[float]) -> None:
    assert row(hold, len(waits)) == waits


def test_no_more_than_six_acts_are_made_in_two_and_a_half_minutes() -> None:
    for hold in (AWAY, FORBIDDEN, INVALID):
        moments = [sum(row(hold, 10)[:number]) for number in range(10)]
        assert len([moment for moment in moments if moment <= 150]) <= 6


@given(times=st.integers(1, 60), spread=SPREADS, told=st.floats(0, 1e9))
def test_wait_is_spread_upwards_by_a_fifth_at_most(times: int, spread: float, told: float) -> None:
    hold = AWAY.model_copy(update={"ask_again_seconds": told})
    (*_, least), (*_, wait) = row(hold, times), row(hold, times, spread)
    assert least <= wait <= 1.2 * least + 1e-6
    assert min(told, 300) <= wait <= 360


@pytest.mark.parametrize("reason", HoldReason)
def test_only_what_failed_begins_a_row(reason: HoldReason) -> None:
    failing = after_failure(None, Hold(reason=reason, message=""), SEEN, NOW, 0)
    own = (HoldReason.FAILED, HoldReason.REFUSED, HoldReason.STALE_FACTS, HoldReason.NOT_TRUE)
    is_failure = reason in own
    assert (failing is not None) == is_failure


def test_403_after_other_failures_is_tried_again_within_seconds() -> None:
    broken = _third()
    refused = after_failure(broken, FORBIDDEN, SEEN, NOW, 0)
    assert refused is not None
    assert refused.next_act - NOW == timedelta(seconds=1.5)


@pytest.mark.parametrize("change", [{"generation": 2}, {"templates": "t-2"}])
def test_edit_of_the_check_or_of_a_template_ends_the_row(change: dict[str, object]) -> None:
    failing = _third()
    memory = Memory(lease=HELD_LEASE, failing=failing)
    edited = SEEN.model_copy(update=change)
    assert isinstance(next_move(SEEN, memory, NOW), Wait)
    assert isinstance(next_move(edited, memory, NOW), TakeStep)
    again = after_failure(failing, AWAY, edited, NOW, 0)
    assert again is not None
    assert (again.count, again.since, again.next_act) == (1, NOW, NOW + timedelta(seconds=5))


def test_row_that_waits_says_why_how_often_and_until_when() -> None:
    result = next_move(SEEN, Memory(failing=_third()), NOW)
    assert isinstance(result, Wait)
    assert result.phase is Phase.HELD
    assert timer_of(result) == 20
    assert "the API server is away" in str(result.details)
    assert "(3 times in a row, the next attempt is due at 2026-03-01T12:00:20Z)" in str(result.details)
    assert result.details.held_since == _third().since


def test_act_is_made_when_its_wait_is_over() -> None:
    failing = _third()
    assert isinstance(next_move(SEEN, Memory(failing=failing), failing.next_act), TakeStep)


@pytest.mark.rule("rule 49")
def test_incident_that_backs_off_after_failed_acts_asks_no_sooner_where_a_limit_is_reached() -> None:
    failing = _third()
    memory = Memory(failing=failing)
    full = Hold(reason=HoldReason.LIMIT, message="10 are under way", ask_again_seconds=1800)
    limited = SEEN.model_copy(update={"hold": full, "admission": None})

    def move(now: datetime) -> Wait:
        answer = answered(limited, memory.intent(now), lambda: full)
        result = next_move(answer, memory, now)
        assert isinstance(result, Wait)
        return result

    before = failing.next_act - timedelta(seconds=1)
    assert move(NOW).requeue_after(NOW) == failing.next_act - NOW
    assert move(before).requeue_after(before) == timedelta(seconds=1)
    assert move(failing.next_act).requeue_after(failing.next_act) == timedelta(minutes=30)


@pytest.mark.rule("rule 47/403")
@pytest.mark.parametrize(("after", "is_reported"), [(0, False), (29.9, False), (30, True)])
def test_403_is_reported_once_it_has_lasted_half_a_minute(after: float, *, is_reported: bool) -> None:
    memory = _refused(Memory(), NOW)
    assert memory.found is None
    later = _refused(memory, NOW + timedelta(seconds=after))
    assert (later.found is not None) == is_reported
    assert lasts(later.failing, NOW + timedelta(seconds=after)) == is_reported


def test_other_error_than_403_is_reported_at_once() -> None:
    memory = Memory().after_failed_act(INVALID, SEEN, NOW, 0, is_forbidden=False)
    assert memory.found == INVALID


def _refused(memory: Memory, now: datetime) -> Memory:
    return memory.after_failed_act(FORBIDDEN, SEEN, now, 0, is_forbidden=True)


def _third() -> FailingActs:
    """The third failure in a row, just now."""
    failing: FailingActs | None = None
    for _ in range(3):
        failing = after_failure(failing, AWAY, SEEN, NOW, 0)
    assert failing is not None
    return failing


SILENT = {HoldReason.FAILED, HoldReason.NOT_TRUE, HoldReason.STALE_FACTS, HoldReason.STOPPED}
TOLD = {
    HoldReason.NO_CONTROLLER,
    HoldReason.TAKEN,
    HoldReason.TAKEN_BY_REQUEST,
    HoldReason.CONTROL_PLANE,
    HoldReason.EARLIER_REQUEST,
    HoldReason.TEMPLATE,
    HoldReason.REFUSED,
}
EARLIER = Hold(reason=HoldReason.CONTROL_PLANE, message="etcd")


@pytest.mark.parametrize("reason", sorted(TOLD))
def test_finding_of_an_act_replaces_the_one_before(reason: HoldReason) -> None:
    hold = Hold(reason=reason, message="now")
    assert finding(EARLIER, hold) == hold


@pytest.mark.parametrize("reason", sorted(SILENT))
def test_an_act_that_says_nothing_of_it_leaves_what_was_found_before(reason: HoldReason) -> None:
    assert finding(EARLIER, Hold(reason=reason, message="now")) == EARLIER
    assert finding(None, Hold(reason=reason, message="now")) is None


@pytest.mark.rule("rule 27")
def test_a_request_that_could_not_be_created_is_found_also_where_the_act_is_tried_again_at_once() -> None:
    hold = failed("500: the webhook is away").model_copy(update={"request_error": "500: the webhook is away"})
    assert finding(EARLIER, hold) == hold


def test_nothing_is_found_after_an_act_that_did_its_step() -> None:
    found = Memory(found=EARLIER)
    seen = Observation(state=TargetState.EXPIRED, reason="")
    assert found.after_request(Step(), request_snapshot(), NOW, NOW).found is None
    assert found.after_disruption(Step(action=Action.DELETE), seen, NOW, NOW).found is None


@pytest.mark.parametrize("state", TargetState)
def test_finding_is_kept_while_the_target_is_unhealthy_or_unknown(state: TargetState) -> None:
    memory = learned(Memory(found=EARLIER), Observation(state=state, reason=""), NOW)
    is_kept = state in (TargetState.EXPIRED, TargetState.UNKNOWN)
    assert memory.found == (EARLIER if is_kept else None)


pytestmark = pytest.mark.rule("rule 47")

SECOND = timedelta(seconds=1)
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
