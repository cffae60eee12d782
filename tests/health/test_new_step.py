"""A new request: only where the detector admits it, and not too soon after a user deleted the last one."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.admission import Admission
from health.model.moves import LONGEST_WAIT, Phase, RecordStep, TakeStep, Wait
from health.model.observation import Hold, HoldReason
from health.runbook.decide import next_move
from health.runbook.memory_parts import Loss
from health.runbook.state import Memory
from health.runbook.words import NO_WORD_OF_ADMISSION
from tests.support.values.builders import FIRST, MINUTE, NOW, SECOND, seen
from tests.support.values.memories import Timed, because, timed, timer_of

LIMIT = timedelta(minutes=30)
LIMITED = Admission(policy_limits="maxInFlight=1")
ADMITTED = seen(admission=LIMITED, back_off_limit_seconds=LIMIT.total_seconds())


def lost(number: int, at: datetime = NOW) -> Memory:
    """The memory of an incident that lost a request, which was the `number`th attempt in a row."""
    return Memory(loss=Loss(at=at, attempt=number))


def test_admitted_step_is_taken() -> None:
    tried = Memory(spent=(FIRST.template, SECOND.template))
    assert next_move(ADMITTED, tried, NOW) == TakeStep(2, LIMITED, because("it is Expired"))


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
    observation = ADMITTED.model_copy(update={"earlier_attempts": earlier})
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
    assert isinstance(next_move(ADMITTED, memory, NOW), TakeStep)


@given(number=st.integers(1, 20_000), earlier=st.integers(0, 10_000), limit=st.integers(0, 10**7))
def test_wait_after_a_loss_has_an_end(number: int, earlier: int, limit: int) -> None:
    observation = seen(back_off_limit_seconds=limit, earlier_attempts=earlier)
    result = next_move(observation, lost(number), NOW)
    assert isinstance(next_move(observation, lost(number), NOW + timedelta(seconds=limit)), TakeStep)
    if isinstance(result, Wait):
        seconds = timer_of(result)
        assert seconds is not None
        assert 0 < seconds <= min(limit, LONGEST_WAIT.total_seconds())
