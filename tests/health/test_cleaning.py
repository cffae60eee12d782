"""When what an incident made is removed: at first, when that may go now, and never in a hot loop."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from health.model.moves import End, Phase, RemoveRequests, Wait
from health.model.observation import Observation, TargetState
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_CONFIRMATION, OF_LEASE, TaskSubject
from health.runbook.decide import next_move
from health.runbook.failures import CHECK_HANGING_AFTER, LeftBehind, MaintenanceTask, TaskFailure
from health.runbook.state import Memory
from tests.support.values.builders import FIRST, HOLD, NOW, SECOND, request_of, seen
from tests.support.values.memories import ACTED, standing, timer_of

ONE, OTHER = request_of(FIRST), request_of(SECOND)
SECONDS = timedelta(seconds=1)


def healthy_with(*requests: RequestSnapshot) -> Observation:
    return seen(*requests, state=TargetState.HEALTHY)


def cleaned(
    *failed: RequestSnapshot, hanging: tuple[RequestSnapshot, ...] = (), times: int = 1, now: datetime = NOW
) -> Memory:
    """The memory after that many attempts, the latest of which was made now."""
    memory = replace(ACTED, requests=(ONE.reference, OTHER.reference))
    for _ in range(times):
        failures = [
            TaskFailure(subject=TaskSubject.of_request(note.uid), what=f"delete {note.reference}", why="500")
            for note in failed
        ]
        tried = {TaskSubject.of_request(request.uid) for request in (ONE, OTHER)} | {OF_LEASE}
        memory = memory.after_attempt(MaintenanceTask.CLEAN_UP, tried, failures, now, 1)
        left = LeftBehind(
            hanging=tuple(note.reference for note in hanging),
            failed=tuple(note.reference for note in failed),
            has_lease=bool(hanging or failed),
        )
        memory = memory.after_clean_up(left, (ONE, OTHER), now)
    return memory


def test_request_is_removed_at_once() -> None:
    memory = replace(ACTED, requests=(ONE.reference,))
    assert isinstance(next_move(healthy_with(ONE), memory, NOW), RemoveRequests)


def test_failed_deletion_waits_for_its_back_off_and_says_so() -> None:
    memory = cleaned(ONE, times=9)
    move = next_move(healthy_with(ONE, OTHER), memory, NOW)
    assert isinstance(move, Wait)
    assert move.phase is Phase.CLEANING_UP
    assert timer_of(move) == 300
    assert "finalizer" not in str(move.details)
    assert isinstance(next_move(healthy_with(ONE, OTHER), memory, NOW + 300 * SECONDS), RemoveRequests)


@pytest.mark.rule("NHC 2.7/finalizer")
def test_request_with_a_finalizer_is_observed_each_minute() -> None:
    memory = cleaned(hanging=(ONE,))
    move = next_move(healthy_with(ONE, OTHER), memory, NOW)
    assert isinstance(move, Wait)
    assert timer_of(move) == CHECK_HANGING_AFTER.total_seconds()
    assert f"{ONE.reference} hangs on a finalizer" in str(move.details)


def test_details_name_the_reason_that_keeps_each_request() -> None:
    move = next_move(healthy_with(ONE, OTHER), cleaned(ONE, hanging=(OTHER,)), NOW)
    assert isinstance(move, Wait)
    assert str(move.details).endswith(f"{OTHER.reference} hangs on a finalizer")


def test_other_requests_than_before_are_a_reason_to_try_at_once() -> None:
    memory = cleaned(ONE)
    assert isinstance(next_move(healthy_with(ONE), memory, NOW), RemoveRequests)
    assert isinstance(next_move(healthy_with(OTHER, ONE), memory, NOW), Wait)


def test_detector_that_was_not_asked_and_shows_nothing_is_none() -> None:
    memory = replace(cleaned(ONE), standing=standing("abort", "power work"))
    not_asked = Observation(state=TargetState.UNKNOWN, reason="no answer of the detector yet")
    assert isinstance(next_move(not_asked, memory, NOW), Wait)
    asked = not_asked.model_copy(update={"hold": HOLD})
    assert isinstance(next_move(asked, memory, NOW), RemoveRequests)


@pytest.mark.rule("NHC 2.5/release")
def test_lease_stays_until_the_last_request_is_gone_and_then_the_incident_ends() -> None:
    assert cleaned(ONE).lease.may_be_held
    assert cleaned(hanging=(ONE,)).lease.may_be_held
    done = cleaned()
    assert not done.lease.may_be_held
    assert done.clean_up_at is None
    assert isinstance(next_move(healthy_with(), done, NOW), End)


@pytest.mark.rule("NHC 2.6/confirmed")
def test_mark_that_could_not_be_taken_off_keeps_the_incident_and_not_the_lease() -> None:
    confirmed = healthy_with().model_copy(update={"is_confirmed": True})
    failure = TaskFailure(subject=OF_CONFIRMATION, what="take the mark off", why="403", is_refused=True)
    tried = ACTED.after_attempt(MaintenanceTask.CLEAN_UP, {OF_LEASE, OF_CONFIRMATION}, [failure], NOW, 1)
    memory = tried.after_clean_up(LeftBehind(), (), NOW)
    assert not memory.lease.may_be_held
    move = next_move(confirmed, memory, NOW)
    assert isinstance(move, Wait)
    assert move.phase is Phase.CLEANING_UP
    assert timer_of(move) == 2
    assert isinstance(next_move(confirmed, memory, NOW + 2 * SECONDS), RemoveRequests)
    assert isinstance(next_move(healthy_with(), memory, NOW), End)


@pytest.mark.parametrize(
    ("left", "notes", "again"),
    [
        pytest.param(LeftBehind(), (), None, id="nothing"),
        pytest.param(
            LeftBehind(hanging=(ONE.reference,), has_lease=True), (), CHECK_HANGING_AFTER, id="finalizer"
        ),
        pytest.param(LeftBehind(has_lease=True), (), CHECK_HANGING_AFTER, id="a lease that nobody gave back"),
    ],
)
def test_remaining_request_is_tried_again(
    left: LeftBehind, notes: tuple[()], again: timedelta | None
) -> None:
    assert left.again_at(notes, NOW) == (None if again is None else NOW + again)
