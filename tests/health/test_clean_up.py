"""The clean-up of an incident, and how the incident ends."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from health.model.details import Details
from health.model.moves import (
    LONGEST_WAIT,
    AnnotateRequests,
    AnnotationPatch,
    End,
    Move,
    Outcome,
    Phase,
    RemoveRequests,
    RenewLease,
    Wait,
)
from health.model.observation import Observation, TargetState
from health.model.remediation_request import EVER, GREW_OLD, GREW_OLD_FLAG, HEALTHY_DELAY
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_CONFIRMATION, OF_LEASE, TaskSubject
from health.runbook.deadlines import OLD
from health.runbook.decide import next_move
from health.runbook.failures import CHECK_HANGING_AFTER, LeftBehind, MaintenanceTask, TaskFailure
from health.runbook.memory_parts import LeaseMemory, LeaseState
from health.runbook.state import Memory
from objects.timestamps import stamp
from tests.support.values.builders import (
    FIRST,
    HOLD,
    MINUTE,
    NOW,
    SECOND,
    request,
    request_of,
    request_snapshot,
    seen,
)
from tests.support.values.memories import ACTED, Timed, because, standing, timed, timer_of, with_lease

LATER = NOW + 10 * MINUTE
MADE_ONE = Memory(
    requests=(request(),),
    has_acted=True,
    lease=LeaseMemory(state=LeaseState.HELD, acquired_at=NOW, renew_at=LATER),
)
ALONE = replace(MADE_ONE, standing=standing("abort", "maintenance"))
GIVEN_BACK = MADE_ONE.after_release()
RECOVERED_NOW = request_snapshot(healthy_since=NOW)
EXPECTS = request_snapshot(is_node_deletion_expected=True)


def healthy(*requests: RequestSnapshot, delay: float = 0, is_confirmed: bool = False) -> Observation:
    return without_steps(*requests, healthy_delay_seconds=delay, is_confirmed=is_confirmed)


def without_steps(
    *requests: RequestSnapshot, state: TargetState = TargetState.HEALTHY, **fields: Any
) -> Observation:
    return seen(*requests, state=state, steps=(), reason="it is so", **fields)


def kept(words: str, seconds: float) -> Timed:
    return Timed(Phase.HEALTHY_DELAY, f"it is so; {words}", seconds)


DELAY = "healthyDelay of 2m"
FOR_GOOD = "healthyDelay is negative: kept until a person confirms that it is healthy"


def stamped(annotations: dict[str, str | None]) -> tuple[AnnotationPatch, ...]:
    return (AnnotationPatch(request=request(), annotations=annotations),)


@pytest.mark.rule(
    "NHC 2.6/none",
    "NHC 2.6/negative",
    "NHC 2.6/positive",
    "NHC 2.6/edited",
    "NHC 2.6/unreadable",
    "NHC 2.6/confirmed",
    "NHC 2.1/12",
    "NHC 2.1/12/PermanentNodeDeletionExpected",
    "rule 10",
    "rule 11/recreated",
    "rule 40",
)
@pytest.mark.parametrize(
    ("observation", "memory", "move"),
    [
        pytest.param(
            healthy(request_snapshot()), MADE_ONE, RemoveRequests(because("it is so")), id="no delay"
        ),
        pytest.param(
            healthy(request_snapshot(), delay=120),
            MADE_ONE,
            AnnotateRequests(
                stamped({HEALTHY_DELAY: stamp(NOW)}),
                Phase.HEALTHY_DELAY,
                Details(reason="it is so", more=(DELAY,)),
            ),
            id="delay begins",
        ),
        pytest.param(healthy(RECOVERED_NOW, delay=120), MADE_ONE, kept(DELAY, 120), id="delay runs"),
        pytest.param(
            healthy(request_snapshot(healthy_since=NOW - 2 * MINUTE), delay=120),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="delay is over",
        ),
        pytest.param(
            healthy(request_snapshot(healthy_since=EVER), delay=120),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="unreadable",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, request_snapshot("2", healthy_since=NOW - MINUTE), delay=120),
            MADE_ONE,
            kept(DELAY, 120),
            id="the latest delay counts",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=1200),
            MADE_ONE,
            kept("healthyDelay of 20m", 600),
            id="a delay longer than the Lease",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=1200),
            with_lease(MADE_ONE, renew_at=NOW),
            RenewLease(Phase.HEALTHY_DELAY, Details(reason="it is so", more=("healthyDelay of 20m",))),
            id="the Lease is due meanwhile",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=1200),
            with_lease(GIVEN_BACK, renew_at=NOW - MINUTE),
            kept("healthyDelay of 20m", 1200),
            id="the Lease was given back: nothing is renewed, and nothing spins",
        ),
        pytest.param(
            healthy(request_snapshot(), delay=-1), MADE_ONE, kept(FOR_GOOD, 600), id="negative: no stamp"
        ),
        pytest.param(
            healthy(request_snapshot(), delay=-1),
            GIVEN_BACK,
            kept(FOR_GOOD, OLD.total_seconds()),
            id="negative, without a Lease: it wakes to flag the request",
        ),
        pytest.param(
            healthy(request_snapshot(is_flagged_as_old=True), delay=-1),
            GIVEN_BACK,
            kept(FOR_GOOD, LONGEST_WAIT.total_seconds()),
            id="negative, without a Lease, and flagged",
        ),
        pytest.param(
            healthy(request_snapshot(), delay=-1, is_confirmed=True),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="negative, and confirmed",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=120, is_confirmed=True),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="confirmed",
        ),
        pytest.param(
            healthy(request_snapshot(created=NOW - OLD), delay=-1),
            MADE_ONE,
            AnnotateRequests(
                stamped({GREW_OLD: GREW_OLD_FLAG}),
                Phase.HEALTHY_DELAY,
                Details(reason="it is so", more=(FOR_GOOD,)),
            ),
            id="kept for two days",
        ),
        pytest.param(
            healthy(request_snapshot(is_being_deleted=True), delay=120),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="somebody deletes the request",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=120), ALONE, RemoveRequests(because("it is so")), id="left alone"
        ),
        pytest.param(
            without_steps(RECOVERED_NOW, state=TargetState.RELEASED, healthy_delay_seconds=120),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="released: no delay",
        ),
        pytest.param(
            without_steps(RECOVERED_NOW, state=TargetState.GONE, healthy_delay_seconds=120),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="gone: no delay",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.GONE),
            MADE_ONE,
            Timed(
                Phase.REMEDIATING,
                "it is so; its remediator expects that, and is not done yet",
                timedelta(days=7).total_seconds(),
            ),
            id="gone, as its remediator expects",
        ),
        pytest.param(
            without_steps(EXPECTS.model_copy(update={"succeeded": True}), state=TargetState.GONE),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="gone, and its remediator is done",
        ),
        pytest.param(
            without_steps(EXPECTS.model_copy(update={"succeeded": False}), state=TargetState.GONE),
            MADE_ONE,
            Timed(
                Phase.REMEDIATING,
                "it is so; its remediator expects that, and is not done yet",
                timedelta(days=7).total_seconds(),
            ),
            id="gone, and its remediator failed",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.GONE, is_replaced=True),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="gone, as its remediator expects, and another of its name is there",
        ),
        pytest.param(
            without_steps(
                EXPECTS.model_copy(update={"is_being_deleted": True}),
                state=TargetState.GONE,
                is_replaced=True,
            ),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="the same, and a finalizer keeps its request",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.GONE, is_replaced=True, healthy_delay_seconds=-1),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="another of its name is there: no delay, the one that went never recovered",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.GONE),
            ALONE,
            RemoveRequests(because("it is so")),
            id="gone, alone",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.RELEASED),
            MADE_ONE,
            RemoveRequests(because("it is so")),
            id="released, not gone",
        ),
        pytest.param(healthy(EXPECTS), MADE_ONE, RemoveRequests(because("it is so")), id="healthy, not gone"),
        pytest.param(
            healthy(is_confirmed=True),
            Memory(),
            RemoveRequests(because("it is so")),
            id="confirmed, and nothing was done",
        ),
        pytest.param(healthy(), Memory(), End(Outcome.RECOVERED, because("it is so")), id="nothing to do"),
        pytest.param(
            healthy(delay=120),
            Memory(has_acted=True),
            End(Outcome.REMEDIATED, because("it is so")),
            id="somebody deleted the kept request, and it was cleaned up",
        ),
    ],
)
def test_move(observation: Observation, memory: Memory, move: Move) -> None:
    assert timed(next_move(observation, memory, NOW)) == move


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
