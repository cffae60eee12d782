"""The memory of an incident after each observation and each act."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from health.model.moves import AnnotationPatch
from health.model.observation import Observation, TargetState
from health.model.references import RequestReference, Step
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.memory_parts import LeaseMemory, LeaseState, Loss, NewStart
from health.runbook.state import Memory
from objects.bounds import LATEST, LONGEST, MOST_ITEMS
from objects.timestamps import stamp
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    MINUTE,
    NOW,
    REBOOT,
    REPLACE,
    RESET,
    SECOND,
    THIRD,
    hanging,
    request_of,
    request_snapshot,
    seen,
)
from tests.support.values.memories import ACTED, HELD_LEASE, handed_over

AT_WORK, FAILED = request_of(FIRST), request_of(FIRST, succeeded=False)
OTHER = REPLACE.model_copy(update={"name": "other"})


def references(*requests: RequestSnapshot) -> tuple[RequestReference, ...]:
    return tuple(request.reference for request in requests)


@pytest.mark.rule("rule 39")
def test_request_that_is_seen_is_ours_also_if_another_client_made_it() -> None:
    memory = learned(Memory(), seen(AT_WORK), NOW)
    assert memory.requests == references(AT_WORK)
    assert memory.has_acted
    assert memory.lease.may_be_held
    assert memory.attempt == 1
    assert memory.lease.renew_at == NOW, "nobody knows until when its Lease runs"
    assert not memory.lease.is_held, "nor whether there is one"


@pytest.mark.rule("NHC 1.8/duration", "NHC 2.5/durations")
@pytest.mark.parametrize(
    ("steps", "request_", "seconds"),
    [
        pytest.param(ESCALATION, AT_WORK, 300, id="of the first step"),
        pytest.param(ESCALATION, request_of(THIRD), 600, id="of the third step"),
        pytest.param(CLASSIC, AT_WORK, 600, id="classic"),
        pytest.param((THIRD,), AT_WORK, 77, id="of a template that is no longer listed: as before"),
        pytest.param((), AT_WORK, 77, id="of a check that is not seen: as before"),
    ],
)
def test_lease_is_kept_for_the_step_of_the_request_that_is_seen(
    steps: tuple[Step, ...], request_: RequestSnapshot, seconds: int
) -> None:
    memory = learned(Memory(lease=LeaseMemory(duration_seconds=77)), seen(request_, steps=steps), NOW)
    assert memory.lease.duration_seconds == seconds


def test_lease_is_kept_for_the_step_of_the_latest_request() -> None:
    requests = (request_of(SECOND), request_of(FIRST, 9 * MINUTE))
    assert learned(Memory(), seen(*requests), NOW).lease.duration_seconds == 120


@pytest.mark.rule("NHC 2.5/overdue")
def test_lease_that_was_given_back_is_not_thought_to_be_held_while_its_request_stays() -> None:
    memory = learned(ACTED.after_release(), seen(AT_WORK), NOW)
    assert not memory.lease.may_be_held
    assert not memory.lease.is_held


def test_request_that_is_not_seen_is_not_forgotten() -> None:
    memory = learned(Memory(), seen(AT_WORK), NOW)
    assert learned(memory, seen(), NOW).requests == references(AT_WORK)
    assert learned(memory, seen(request_of(SECOND)), NOW).requests == references(AT_WORK, request_of(SECOND))


@pytest.mark.rule("NHC 2.4/2")
@pytest.mark.parametrize(
    ("observation", "spent"),
    [
        pytest.param(seen(AT_WORK), (), id="at work"),
        pytest.param(seen(FAILED), (REBOOT,), id="failed"),
        pytest.param(seen(request_of(FIRST, 6 * MINUTE)), (REBOOT,), id="timed out"),
        pytest.param(seen(request_of(FIRST, timed_out_at=NOW)), (REBOOT,), id="marked"),
        pytest.param(seen(FAILED, request_of(SECOND, 3 * MINUTE)), (REBOOT, RESET), id="two"),
        pytest.param(seen(FAILED, state=TargetState.WAITING), (), id="only a timer runs"),
        pytest.param(seen(FAILED, state=TargetState.UNKNOWN), (), id="the detector cannot tell"),
        pytest.param(seen(FAILED, state=TargetState.HEALTHY), (), id="healthy"),
        pytest.param(seen(FAILED, steps=(THIRD,)), (), id="no longer listed"),
    ],
)
def test_lock_of_a_step_is_over_once(observation: Observation, spent: tuple[Any, ...]) -> None:
    memory = learned(Memory(), observation, NOW)
    assert memory.spent == spent
    assert learned(memory, observation, NOW).spent == spent


@pytest.mark.rule("rule 14/deleted request", "NHC 2.5/overdue")
def test_classic_remediation_whose_overdue_request_a_user_deletes_begins_anew() -> None:
    overdue = seen(request_of(CLASSIC[0], timed_out_at=NOW), steps=CLASSIC)
    memory = learned(Memory(), overdue, NOW)
    assert memory.spent == ()
    assert memory.is_exhausted, "so a person who resumes it begins it anew"


@pytest.mark.rule("NHC 2.5/durations")
def test_act_is_remembered_with_its_lease() -> None:
    held = Memory(skips_back_off=True, lease=HELD_LEASE)
    memory = held.after_request(SECOND, request_of(SECOND), NOW - MINUTE, NOW)
    assert memory.requests == references(request_of(SECOND))
    assert memory.lease.duration_seconds == 120
    assert memory.lease.acquired_at == NOW - MINUTE
    assert memory.lease.renew_at == NOW + MINUTE
    assert memory.lease.is_held
    assert memory.lease.state is LeaseState.HELD
    assert not memory.skips_back_off


def test_act_that_met_its_own_request_does_not_forget_since_when_it_holds_the_lease() -> None:
    memory = ACTED.after_request(FIRST, AT_WORK, None, NOW + MINUTE)
    assert memory.lease.acquired_at == NOW
    assert memory.after_request(FIRST, AT_WORK, None, NOW).requests == references(AT_WORK)


@pytest.mark.rule("rule 14/deleted request")
def test_each_loss_counts_as_an_attempt() -> None:
    memory = learned(Memory(), seen(AT_WORK, earlier_attempts=1), NOW)
    assert memory.attempt == 2
    later = NOW + MINUTE
    lost = memory.after_loss(references(AT_WORK), seen(earlier_attempts=1), later)
    assert (lost.requests, lost.loss) == ((), Loss(at=later, attempt=2))
    assert lost.attempt_of(seen(earlier_attempts=1)) == 3


@pytest.mark.rule("rule 14/deleted request")
def test_loss_counts_also_once_the_detector_knows_no_earlier_remediation_but_that_one() -> None:
    memory = learned(Memory(), seen(AT_WORK, earlier_attempts=1), NOW)
    lost = memory.after_loss(references(AT_WORK), seen(earlier_attempts=0), NOW)
    assert lost.attempt_of(seen(earlier_attempts=0)) == 3


@pytest.mark.rule("rule 14", "rule 14/deleted request")
def test_loss_before_a_recovery_is_counted_by_the_detector_alone() -> None:
    memory = Memory(attempt=1).after_loss((), seen(), NOW)
    again = learned(memory, seen(AT_WORK), NOW)
    assert again.attempt == 2
    assert again.after_clean_up(LeftBehind(), (), NOW).attempt_of(seen(earlier_attempts=2)) == 3


def test_loss_of_one_request_is_not_the_loss_of_another() -> None:
    memory = learned(Memory(), seen(AT_WORK, request_of(SECOND)), NOW)
    assert memory.after_loss(references(AT_WORK), seen(), NOW).requests == references(request_of(SECOND))


def test_nothing_is_left_to_be_done_after_a_clean_up() -> None:
    memory = learned(ACTED, seen(FAILED), NOW).after_clean_up(LeftBehind(), (), NOW)
    assert not memory.owns_something
    assert not memory.lease.is_held
    assert memory.spent == ()
    assert memory.patches == ()
    assert memory.has_acted


@pytest.mark.rule("NHC 2.7/finalizer")
def test_request_that_a_finalizer_keeps_is_still_owned() -> None:
    memory = learned(ACTED, seen(FAILED), NOW).after_clean_up(hanging(*references(FAILED)), (), NOW)
    assert memory.owns_something
    assert memory.lease.may_be_held
    assert memory.spent == (REBOOT,)
    assert not memory.after_clean_up(LeftBehind(), (), NOW).withdrawn


GOING = request_of(FIRST, is_being_deleted=True)


@pytest.mark.rule("rule 14/deleted request")
@pytest.mark.parametrize(
    ("before", "withdrawn"),
    [
        pytest.param((AT_WORK,), True, id="we deleted it"),
        pytest.param((), True, id="nobody saw it"),
        pytest.param((GOING,), False, id="somebody else had deleted it before"),
    ],
)
def test_request_that_the_incident_deletes_itself_is_never_lost(
    before: tuple[RequestSnapshot, ...], *, withdrawn: bool
) -> None:
    known = references(AT_WORK)
    memory = learned(ACTED, seen(AT_WORK), NOW).after_clean_up(hanging(*known), before, NOW)
    expected = ("reboot",) if withdrawn else ()
    assert memory.settled(known, seen()) == expected
    # It still hangs, and is deleted again.
    assert memory.after_clean_up(hanging(*known), (GOING,), NOW).settled(known, seen()) == expected


@pytest.mark.rule("rule 14", "rule 14/deleted request")
@pytest.mark.parametrize(
    ("attempt", "earlier", "is_settled"),
    [
        pytest.param(1, 0, False, id="the failure that it was made for goes on"),
        pytest.param(1, 1, True, id="its target recovered and failed again"),
        pytest.param(2, 1, False, id="after an earlier one, whose number it continues"),
        pytest.param(2, 2, True, id="after an earlier one, and it recovered"),
        pytest.param(0, 1, False, id="there was none"),
    ],
)
def test_request_that_the_detector_counts_as_an_earlier_remediation_is_no_loss_too(
    attempt: int, earlier: int, *, is_settled: bool
) -> None:
    memory = Memory(requests=references(AT_WORK, request_of(SECOND)), attempt=attempt)
    known = references(AT_WORK)
    assert memory.settled(known, seen(earlier_attempts=earlier)) == (("reboot",) if is_settled else ())


def test_broken_off_act_is_owned_but_its_lease_is_not_surely_held() -> None:
    memory = Memory(lease=HELD_LEASE)
    assert memory.owns_something
    assert not memory.lease.is_held


def test_written_annotation_is_known_before_the_detector_sees_it() -> None:
    mark = AnnotationPatch(request=AT_WORK.reference, annotations={TIMED_OUT: stamp(NOW)})
    memory = ACTED.after_annotation((mark,))
    (completed,) = memory.complete(seen(AT_WORK)).requests
    assert completed.timed_out_at == NOW
    assert memory.complete(seen()) == seen()


@pytest.mark.rule("rule 40/exhausted")
@pytest.mark.parametrize(
    ("name", "spent"), [("", ()), ("reboot", ()), ("reset", (REBOOT,)), ("unheard of", ())]
)
def test_starting_over_takes_the_named_step_first(name: str, spent: tuple[Any, ...]) -> None:
    ordered = Memory(starts_over=NewStart(first_step=name), loss=Loss(at=NOW, attempt=3), spent=(RESET,))
    memory = learned(ordered, seen(), NOW)
    assert memory.spent == spent
    assert (memory.starts_over, memory.loss) == (None, Loss(at=NOW, attempt=0))


@pytest.mark.rule("rule 40/exhausted")
@pytest.mark.parametrize(
    ("observation", "memory"),
    [
        pytest.param(seen(AT_WORK), Memory(), id="a request is seen"),
        pytest.param(seen(), Memory(requests=references(AT_WORK)), id="a request is known"),
        pytest.param(seen(), Memory(lease=HELD_LEASE), id="the Lease may be held"),
        pytest.param(seen(state=TargetState.UNKNOWN), Memory(), id="the steps are not known"),
    ],
)
def test_starting_over_waits_until_all_is_clean(observation: Observation, memory: Memory) -> None:
    ordered = replace(memory, starts_over=NewStart(first_step="reset"))
    after = learned(ordered, observation, NOW)
    assert after.starts_over == NewStart(first_step="reset")


ALL_TRIED = tuple(request_of(step, succeeded=False) for step in ESCALATION)
EXHAUSTED = learned(Memory(), seen(*ALL_TRIED), NOW)


@pytest.mark.rule("rule 40/exhausted")
@pytest.mark.parametrize(
    ("observation", "is_exhausted"),
    [
        pytest.param(seen(*ALL_TRIED), True, id="all were tried"),
        pytest.param(seen(*ALL_TRIED, state=TargetState.WAITING), True, id="a timer runs"),
        pytest.param(seen(), True, id="somebody deleted the requests"),
        pytest.param(seen(*ALL_TRIED, state=TargetState.UNKNOWN), True, id="nobody can tell: as before"),
        pytest.param(seen(*ALL_TRIED, request_of(Step(template=OTHER))), False, id="another one runs"),
        pytest.param(seen(*ALL_TRIED, steps=(*ESCALATION, Step(template=OTHER))), False, id="one was added"),
        pytest.param(seen(*ALL_TRIED, state=TargetState.HEALTHY, steps=()), False, id="it is healthy"),
    ],
)
def test_exhaustion_is_what_was_seen_last(observation: Observation, *, is_exhausted: bool) -> None:
    assert EXHAUSTED.is_exhausted
    assert learned(EXHAUSTED, observation, NOW).is_exhausted is is_exhausted


@pytest.mark.rule("rule 40/exhausted")
def test_nothing_is_exhausted_before_a_step_was_tried_or_after_a_clean_up() -> None:
    assert not learned(Memory(), seen(), NOW).is_exhausted
    assert not learned(Memory(), seen(steps=()), NOW).is_exhausted
    assert not EXHAUSTED.after_clean_up(LeftBehind(), (), NOW).is_exhausted
    assert EXHAUSTED.after_clean_up(hanging(*references(AT_WORK)), (), NOW).is_exhausted


OBSERVATIONS = st.builds(
    lambda state, requests: seen(*requests, state=state),
    st.sampled_from(list(TargetState)),
    st.lists(
        st.builds(
            lambda step, minutes, succeeded: request_of(step, minutes * MINUTE, succeeded=succeeded),
            st.sampled_from(ESCALATION),
            st.integers(0, 20),
            st.sampled_from([None, True, False]),
        ),
        unique_by=lambda one: one.uid,
    ),
)
MEMORIES = st.builds(lambda looks: looks_remembered(Memory(), looks), st.lists(OBSERVATIONS, max_size=3))


def looks_remembered(memory: Memory, looks: list[Observation], now: datetime = NOW) -> Memory:
    for look in looks:
        memory = learned(memory, look, now)
    return memory


@given(memory=MEMORIES, observation=OBSERVATIONS, later=st.integers(0, 10**6))
def test_same_look_twice_tells_nothing_new(memory: Memory, observation: Observation, later: int) -> None:
    now = NOW + timedelta(seconds=later)
    once = learned(memory, observation, now)
    assert learned(once, observation, now) == once


@given(memory=MEMORIES, observation=OBSERVATIONS)
def test_look_forgets_neither_a_request_nor_a_step_nor_an_attempt(
    memory: Memory, observation: Observation
) -> None:
    after = learned(memory, observation, NOW)
    assert set(memory.requests) <= set(after.requests)
    assert set(memory.spent) <= set(after.spent)
    assert after.attempt >= memory.attempt
    assert handed_over(after) == after


def test_change_of_a_field_that_there_is_not_is_refused_and_changes_nothing_in_silence() -> None:
    request = request_snapshot()
    with pytest.raises(TypeError, match="RequestSnapshot has no field suceeded"):
        request.model_copy(update={"succeeded": True, "suceeded": True})
    assert request == request_snapshot()


def test_memory_from_another_client_is_bounded_and_stops_at_its_first_bad_item() -> None:
    far = {"lease": {"renew_at": "9999-12-31T23:59:59Z", "duration_seconds": 1e300}}
    lease = TypeAdapter(Memory).validate_python(far).lease
    assert (lease.renew_at, lease.duration_seconds) == (LATEST, LONGEST.total_seconds())
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Memory).validate_python({"withdrawn": [1] * 5_000, "skipped": ["a"] * (MOST_ITEMS + 1)})
    assert refused.value.error_count() == 2
