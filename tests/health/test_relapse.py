"""A failure that comes back after a remediation: the step that follows, and what is said without it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.admission import Admission
from health.model.incident_result import IN_A_ROW, SAID_FROM, EndedRemediation, repeated
from health.model.moves import Phase, TakeStep, Wait
from health.model.observation import Observation, TargetState
from health.model.references import Step, TemplateReference
from health.model.remediation_order import REMEDIATE
from health.model.request_snapshot import RequestSnapshot
from health.runbook.decide import next_move
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.memory_parts import NewStart
from health.runbook.orders import ResumeOrder, ordered
from health.runbook.state import Memory
from objects.timestamps import stamp
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    MINUTE,
    NOW,
    REBOOT,
    RESET,
    SECOND,
    THIRD,
    fact,
    request_of,
    seen,
)
from tests.support.values.memories import standing

pytestmark = pytest.mark.rule("rule 64")

RELAPSE = 30 * MINUTE
A_SECOND = timedelta(seconds=1)
OTHER = FIRST.model_copy(update={"template": REBOOT.model_copy(update={"name": "other"})})
THIRD_TEMPLATE = THIRD.template
KEPT = request_of(THIRD, 11 * MINUTE, is_being_deleted=True)
"""A request whose step timed out, and that a finalizer keeps."""


def earlier(*taken: TemplateReference, in_a_row: int = 0) -> EndedRemediation:
    return EndedRemediation(ended=NOW, taken=taken, in_a_row=in_a_row)


def failing(after: timedelta = MINUTE, limit: timedelta = RELAPSE, **fields: Any) -> Observation:
    """A target that failed again so long after the end of its remediation."""
    says: dict[str, Any] = {"fact": fact(NOW + after), "relapse_seconds": limit.total_seconds()}
    return seen(**says | fields)


def next_step(memory: Memory, observation: Observation) -> int | None:
    return memory.plan(observation).progress(observation.requests, NOW).next_step


@pytest.mark.parametrize(
    ("taken", "observation", "step"),
    [
        pytest.param([], failing(), 0, id="nothing was taken"),
        pytest.param([REBOOT], failing(), 1, id="one step was taken"),
        pytest.param([REBOOT, RESET], failing(), 2, id="two were taken"),
        pytest.param([REBOOT, RESET, THIRD_TEMPLATE], failing(), None, id="all were taken"),
        pytest.param([RESET], failing(), 0, id="a person had begun with the second"),
        pytest.param([REBOOT], failing(RELAPSE), 1, id="just in time"),
        pytest.param([REBOOT], failing(RELAPSE + A_SECOND), 0, id="too late"),
        pytest.param([REBOOT], failing(-A_SECOND), 1, id="in the second of the recovery"),
        pytest.param([REBOOT], failing(limit=timedelta()), 0, id="off"),
        pytest.param([REBOOT], failing(fact=fact(NOW, "set", REMEDIATE)), 0, id="by order"),
        pytest.param([REBOOT], failing(state=TargetState.WAITING), 1, id="before its deadline"),
        pytest.param([REBOOT], failing(steps=(OTHER, SECOND)), 0, id="the step has another template now"),
        pytest.param([REBOOT], failing(steps=(SECOND, FIRST)), 0, id="the steps have another order now"),
        pytest.param([RESET], failing(steps=(SECOND, FIRST)), 1, id="by template, not by number"),
        pytest.param([REBOOT], failing(steps=(FIRST,)), None, id="no step is left"),
        pytest.param([REBOOT], failing(2 * IN_A_ROW, 3 * IN_A_ROW), 1, id="a long time"),
        pytest.param([REBOOT], failing(steps=CLASSIC), 0, id="a classic remediation takes its step again"),
    ],
)
def test_failure_that_comes_back_in_time_goes_on_after_the_steps_that_were_taken(
    taken: list[TemplateReference], observation: Observation, step: int | None
) -> None:
    memory = learned(Memory(earlier=earlier(*taken) if taken else None), observation, NOW)
    assert next_step(memory, observation) == step
    assert memory.is_exhausted is (step is None)
    assert learned(memory, observation, NOW) == memory


ALL = [step.template for step in ESCALATION]
LATE = RELAPSE + A_SECOND


def exhausted() -> Memory:
    memory = learned(Memory(earlier=earlier(*ALL)), failing(), NOW)
    assert memory.is_exhausted
    return memory


@pytest.mark.parametrize("state", [TargetState.WAITING, TargetState.EXPIRED])
@pytest.mark.parametrize(("taken", "step"), [(ALL, None), ([REBOOT], 1)])
def test_relapse_lasts_until_the_target_is_healthy_whatever_its_condition_is_meanwhile(
    taken: list[TemplateReference], step: int | None, state: TargetState
) -> None:
    memory = learned(Memory(earlier=earlier(*taken)), failing(), NOW)
    other = failing(fact=fact(NOW + LATE, "False"), state=state)
    memory = learned(memory, other, NOW + LATE)
    assert next_step(memory, other) == step
    assert memory.is_exhausted is (step is None)
    assert isinstance(next_move(other, memory, NOW + LATE), Wait) is (
        step is None or state is TargetState.WAITING
    )


def test_failure_that_another_condition_goes_on_with_began_with_the_first_one() -> None:
    memory = learned(Memory(earlier=earlier(REBOOT)), failing(state=TargetState.WAITING), NOW)
    assert next_step(learned(memory, failing(LATE), NOW), failing(LATE)) == 1


def test_recovery_from_an_exhausted_relapse_is_the_end_of_a_remediation() -> None:
    recovered = NOW + 20 * MINUTE
    memory = learned(exhausted(), seen(state=TargetState.HEALTHY, fact=None, steps=()), recovered)
    assert memory.earlier == EndedRemediation(ended=recovered, taken=tuple(ALL))
    assert not memory.is_exhausted
    assert learned(memory, failing(20 * MINUTE + RELAPSE), NOW).is_exhausted
    late = failing(20 * MINUTE + LATE)
    assert next_step(learned(memory, late, NOW), late) == 0


@pytest.mark.parametrize("state", [TargetState.GONE, TargetState.RELEASED])
def test_relapse_whose_target_leaves_the_check_is_judged_by_the_next_failure(state: TargetState) -> None:
    memory = learned(exhausted(), seen(state=state, fact=None, steps=()), NOW)
    assert memory.earlier == earlier(*ALL)


@pytest.mark.parametrize(
    "kept", [pytest.param((), id="no request"), pytest.param((KEPT,), id="a finalizer keeps the last one")]
)
def test_relapse_without_a_step_left_waits_for_its_duration_like_any_failure(
    kept: tuple[RequestSnapshot, ...],
) -> None:
    memory = Memory(earlier=earlier(*ALL), cleaned_up=tuple(request.uid for request in kept))
    waiting = failing(state=TargetState.WAITING, remaining_seconds=90, requests=kept)
    memory = learned(memory, waiting, NOW)
    move = next_move(waiting, memory, NOW)
    assert (move.phase, memory.is_exhausted) == (Phase.WAITING, False)
    memory = learned(memory, failing(requests=kept), NOW)
    assert next_move(failing(requests=kept), memory, NOW).phase is Phase.EXHAUSTED


def test_relapse_says_which_steps_are_not_taken_again_until_they_count_no_more() -> None:
    memory = learned(Memory(earlier=earlier(REBOOT)), failing(), NOW)
    assert memory.relapse == (
        f"the remediation that ended at {stamp(NOW)} took reboot, and the next step follows"
    )
    assert Memory(earlier=earlier(REBOOT)).relapse is None


def test_relapse_without_a_step_left_asks_for_no_admission_until_a_person_resumes_it() -> None:
    assert not exhausted().intent(NOW).would_act
    assert ordered(exhausted(), ResumeOrder(), NOW).intent(NOW).would_act


def test_detector_gets_the_steps_of_a_relapse_at_once() -> None:
    memory = learned(Memory(earlier=earlier(*ALL)), failing(), NOW)
    assert memory.has_report_due
    assert not memory.after_report(memory).has_report_due
    assert memory.after_report(Memory()).has_report_due


@pytest.mark.parametrize("observation", [failing(), seen(state=TargetState.HEALTHY, fact=None, steps=())])
def test_relapse_that_a_person_aborts_is_followed_by_the_first_step(observation: Observation) -> None:
    memory = replace(exhausted(), standing=standing("abort"))
    memory = replace(learned(memory, observation, NOW), standing=())
    assert (memory.earlier, memory.relapsed) == (None, ())


def test_question_tells_the_detector_which_steps_are_not_taken_again() -> None:
    memory = learned(Memory(earlier=earlier(REBOOT)), failing(), NOW)
    assert memory.progress.spent == (REBOOT,)
    assert memory.is_before_the_first_step


def remediated(
    memory: Memory,
    step: Step,
    recovered: datetime | None = NOW,
    state: TargetState = TargetState.HEALTHY,
) -> Memory:
    """The memory after this step, a recovery (None: none), and the clean-up."""
    made = request_of(step)
    memory = memory.after_request(step, made, NOW, NOW)
    if recovered:
        memory = learned(memory, seen(made, state=state, fact=None, steps=()), recovered)
    return memory.after_clean_up(LeftBehind(), [made], NOW + MINUTE)


def test_relapse_of_a_relapse_goes_on_after_it_also_in_one_incident() -> None:
    memory, taken = Memory(), []
    for _ in ESCALATION:
        observation = failing(admission=None)
        memory = learned(memory, observation, NOW)
        number = next_step(memory, observation)
        assert number is not None
        taken.append(number)
        memory = remediated(memory, ESCALATION[number])
    assert taken == [0, 1, 2]
    assert learned(memory, failing(), NOW).is_exhausted
    assert memory.earlier == earlier(*(step.template for step in ESCALATION))


@pytest.mark.parametrize("state", [TargetState.HEALTHY, TargetState.GONE])
def test_time_counts_from_the_recovery_or_the_end_of_the_target_not_from_the_clean_up(
    state: TargetState,
) -> None:
    assert remediated(Memory(), FIRST, state=state).earlier == earlier(REBOOT)


def test_time_counts_from_when_the_target_was_last_seen_to_be_gone() -> None:
    gone = seen(state=TargetState.GONE, fact=None, steps=())
    memory = learned(Memory(), gone, NOW - MINUTE)
    assert learned(memory, gone, NOW).recovery.gone_at == NOW


def test_chain_ends_with_a_failure_that_comes_late() -> None:
    memory = learned(Memory(earlier=earlier(REBOOT)), failing(RELAPSE + A_SECOND), NOW)
    assert remediated(memory, FIRST).earlier == earlier(REBOOT, in_a_row=1)


def test_flicker_before_a_step_is_no_remediation_and_hides_none() -> None:
    memory = learned(Memory(earlier=earlier(REBOOT)), failing(state=TargetState.WAITING), NOW)
    memory = learned(memory, seen(state=TargetState.HEALTHY, fact=None, steps=()), NOW)
    assert memory.earlier == earlier(REBOOT)
    memory = learned(memory, failing(RELAPSE + A_SECOND), NOW)
    assert next_step(memory, failing()) == 0


def test_remediation_that_a_person_ended_without_a_recovery_is_followed_by_the_first_step() -> None:
    memory = remediated(Memory(earlier=earlier(REBOOT)), SECOND, recovered=None)
    assert memory.earlier is None


def test_clean_up_without_a_recovery_that_leaves_a_request_ends_nothing() -> None:
    made = request_of(FIRST)
    memory = Memory().after_request(FIRST, made, NOW, NOW)
    memory = memory.after_clean_up(LeftBehind(hanging=(made.reference,)), [made], NOW)
    assert (memory.earlier, memory.taken) == (None, (REBOOT,))


def hanging(memory: Memory, made: RequestSnapshot) -> Memory:
    """The memory after a recovery, and two clean-ups in which a finalizer kept the request."""
    healthy = seen(made, state=TargetState.HEALTHY, fact=None)
    for _ in range(2):
        memory = learned(memory, healthy, NOW)
        memory = memory.after_clean_up(LeftBehind(hanging=(made.reference,)), [made], NOW + MINUTE)
    return memory


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(request_of(FIRST, boot_id="b"), id="its step runs"),
        pytest.param(request_of(FIRST, 6 * MINUTE, timed_out_at=NOW, boot_id="b"), id="it timed out"),
    ],
)
@pytest.mark.parametrize(("limit", "after_it"), [(RELAPSE, 1), (timedelta(), 0)])
def test_recovery_counts_although_a_finalizer_keeps_a_request_until_after_the_next_failure(
    made: RequestSnapshot, limit: timedelta, after_it: int
) -> None:
    memory = learned(Memory().after_request(FIRST, made, NOW, NOW), failing(requests=(made,)), NOW)
    memory = hanging(memory, made)
    assert memory.earlier == earlier(REBOOT, in_a_row=1)
    assert not memory.recovery.has_begun
    kept = made.model_copy(update={"is_being_deleted": True})
    memory = learned(memory, failing(state=TargetState.WAITING, limit=limit, requests=(kept,)), NOW)
    gone = failing(limit=limit)
    memory = learned(memory, gone, NOW)
    assert next_step(memory, gone) == after_it


def test_relapse_is_not_mistaken_about_the_steps_before_a_request_that_a_finalizer_keeps() -> None:
    made = request_of(SECOND, 6 * MINUTE, timed_out_at=NOW)
    memory = hanging(Memory(relapsed=(REBOOT,), earlier=earlier(REBOOT), taken=(RESET,)), made)
    memory = learned(memory, failing(requests=(made,)), NOW)
    assert next_step(learned(memory, failing(), NOW), failing()) == 2


def test_target_that_flickers_while_a_finalizer_keeps_a_request_was_not_remediated_again() -> None:
    made = request_of(FIRST)
    memory = hanging(Memory().after_request(FIRST, made, NOW, NOW), made)
    memory = learned(memory, failing(state=TargetState.WAITING, limit=timedelta(), requests=(made,)), NOW)
    assert hanging(memory, made).earlier == earlier(REBOOT, in_a_row=1)


def test_step_that_a_person_passed_over_is_no_remediation() -> None:
    memory = learned(Memory(starts_over=NewStart(first_step="reset")), failing(), NOW)
    assert memory.spent == (REBOOT,)
    memory = learned(memory, seen(state=TargetState.HEALTHY, fact=None, steps=()), NOW)
    assert memory.after_clean_up(LeftBehind(), [], NOW).earlier is None


def test_clean_up_for_a_new_start_is_no_recovery_although_the_target_looks_healthy() -> None:
    made = request_of(FIRST)
    memory = Memory(starts_over=NewStart()).after_request(FIRST, made, NOW, NOW)
    assert hanging(memory, made).earlier is None


def test_order_to_start_over_begins_where_it_says() -> None:
    memory = learned(Memory(earlier=earlier(REBOOT), starts_over=NewStart()), failing(), NOW)
    assert (next_step(memory, failing()), memory.earlier) == (0, None)


def test_classic_remediation_has_no_step_after_another() -> None:
    memory = remediated(Memory(), CLASSIC[0])
    assert memory.earlier is None


def test_request_that_was_only_seen_counts_as_taken() -> None:
    memory = learned(Memory(), failing(requests=(request_of(FIRST),)), NOW)
    assert memory.taken == (REBOOT,)


def test_relapse_takes_the_step_that_is_next() -> None:
    observation = failing().admitted(Admission())
    move = next_move(observation, learned(Memory(earlier=earlier(REBOOT)), observation, NOW), NOW)
    assert isinstance(move, TakeStep)
    assert move.step == 1


@pytest.mark.parametrize(
    ("taken", "in_a_row", "observation", "said"),
    [
        pytest.param([REBOOT], 1, failing(limit=timedelta()), 0, id="for the second time"),
        pytest.param([REBOOT], 2, failing(limit=timedelta()), 3, id="for the third time"),
        pytest.param([REBOOT], 5, failing(limit=timedelta()), 6, id="for the sixth time"),
        pytest.param([REBOOT, RESET], 0, failing(limit=timedelta()), 0, id="the second was reached"),
        pytest.param([RESET], 3, failing(limit=timedelta()), 0, id="a person had begun with the second"),
        pytest.param([REBOOT], 3, failing(limit=timedelta(), steps=(FIRST,)), 0, id="there is no other step"),
        pytest.param([REBOOT], 3, failing(limit=timedelta(), steps=(OTHER, SECOND)), 0, id="another step"),
        pytest.param([REBOOT], 3, failing(IN_A_ROW + A_SECOND, timedelta()), 0, id="long ago"),
        pytest.param([REBOOT], 3, failing(), 0, id="with a relapse"),
    ],
)
def test_first_step_that_is_taken_again_and_again_is_said(
    taken: list[TemplateReference], in_a_row: int, observation: Observation, said: int
) -> None:
    memory = learned(Memory(earlier=earlier(*taken, in_a_row=in_a_row)), observation, NOW)
    assert memory.repetition == (repeated(in_a_row, 1) if said > SAID_FROM else None)
    number = next_step(memory, observation)
    assert number is not None
    memory = memory.after_request(observation.steps[number], request_of(observation.steps[number]), NOW, NOW)
    assert memory.repetition == (repeated(said, 1) if said else None)


@given(times=st.integers(min_value=1, max_value=9), steps=st.sampled_from([1, 2]))
def test_number_in_a_row_is_that_of_the_remediations_with_these_first_steps(times: int, steps: int) -> None:
    memory = Memory()
    for _ in range(times):
        memory = learned(memory, failing(limit=timedelta()), NOW)
        *before, last = ESCALATION[:steps]
        for step in before:
            memory = memory.after_request(step, request_of(step), NOW, NOW)
        memory = remediated(memory, last)
    assert memory.earlier is not None
    assert memory.earlier.in_a_row == times
    words = repeated(times, steps) if times >= SAID_FROM else ""
    assert memory.repetition == (words or None)
    assert memory.earlier.repetition == words


def test_repetition_of_two_steps_is_said_while_the_first_one_runs_again() -> None:
    memory = learned(Memory(earlier=earlier(REBOOT, RESET, in_a_row=4)), failing(limit=timedelta()), NOW)
    memory = memory.after_request(FIRST, request_of(FIRST), NOW, NOW)
    assert memory.repetition == repeated(4, 2)
    assert memory.after_request(SECOND, request_of(SECOND), NOW, NOW).repetition == repeated(5, 2)


def test_all_steps_are_no_repetition() -> None:
    memory = learned(Memory(earlier=earlier(*ALL, in_a_row=0)), failing(limit=timedelta()), NOW)
    for step in ESCALATION:
        memory = memory.after_request(step, request_of(step), NOW, NOW)
    assert (memory.in_a_row, memory.repetition) == (0, None)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (1, "step 1 was taken 3 times in a row; the steps after it are not reached"),
        (2, "steps 1 to 2 were taken 3 times in a row; the steps after them are not reached"),
    ],
)
def test_words_of_a_repetition_name_the_steps(steps: int, words: str) -> None:
    assert repeated(3, steps).startswith(words)
