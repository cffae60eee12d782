"""The words of a hold: short, full, and since when it holds, which only another reason changes."""

from dataclasses import replace
from datetime import timedelta

import pytest

from health.model.details import HELD_BY_PERSON, HoldWords
from health.model.moves import Phase, Wait
from health.model.observation import NO_ADMISSION, Hold, HoldReason, Observation, TargetState
from health.runbook.decide import as_reported, next_move
from health.runbook.learn import learned
from health.runbook.memory_parts import Loss
from health.runbook.state import Memory
from tests.support.values.builders import MINUTE, NOW, seen
from tests.support.values.memories import ACTED, standing

THRESHOLD = Hold(reason=HoldReason.THRESHOLD, message="5 of 10 unhealthy")
OTHER_NUMBERS = Hold(reason=HoldReason.THRESHOLD, message="6 of 10 unhealthy")
STALE = Hold(reason=HoldReason.STALE_CACHE, message="cannot read Nodes")


def held(hold: Hold | None, state: TargetState = TargetState.EXPIRED) -> Observation:
    return seen(hold=hold).model_copy(update={"state": state})


def after(*answers: Observation) -> Memory:
    """The memory of an incident that got these answers, a minute apart, the first one NOW."""
    memory, now = Memory(), NOW
    for answer in answers:
        memory = learned(memory, answer.held_since(memory.holds, now), now)
        now += MINUTE
    return memory


@pytest.mark.parametrize(
    ("answers", "began"),
    [
        ([held(THRESHOLD)], NOW),
        ([held(THRESHOLD), held(OTHER_NUMBERS), held(THRESHOLD)], NOW),
        ([held(THRESHOLD), held(STALE, TargetState.UNKNOWN), held(THRESHOLD)], NOW),
        ([held(None), held(THRESHOLD)], NOW + MINUTE),
        ([held(STALE), held(THRESHOLD)], NOW + MINUTE),
        ([held(THRESHOLD), held(None), held(THRESHOLD)], NOW + 2 * MINUTE),
        ([held(THRESHOLD), held(NO_ADMISSION), held(THRESHOLD)], NOW + 2 * MINUTE),
        ([held(THRESHOLD), held(STALE), held(THRESHOLD)], NOW + 2 * MINUTE),
    ],
    ids=[
        "at once",
        "other numbers",
        "unknown between",
        "later",
        "after another reason",
        "over between",
        "admission between",
        "another reason between",
    ],
)
def test_hold_began_with_the_first_answer_of_its_reason(answers: list[Observation], began: object) -> None:
    memory = after(*answers)
    assert memory.holds[0].since == began
    assert HoldWords.model_validate_json(memory.holds[0].model_dump_json()) == memory.holds[0]


def test_hold_of_an_unknown_state_has_a_beginning_of_its_own() -> None:
    memory = after(held(THRESHOLD), held(STALE, TargetState.UNKNOWN), held(STALE, TargetState.UNKNOWN))
    assert [(words.short, words.since) for words in memory.holds] == [
        (HoldReason.STALE_CACHE, NOW + MINUTE),
        (HoldReason.THRESHOLD, NOW),
    ]


def test_new_leader_learns_the_beginning_from_the_question() -> None:
    memory = as_reported(after(held(THRESHOLD)).progress)
    assert held(OTHER_NUMBERS).held_since(memory.holds, NOW + MINUTE).hold == OTHER_NUMBERS.began_at(NOW)


@pytest.mark.parametrize(
    ("memory", "hold", "words"),
    [
        (Memory(), THRESHOLD.began_at(NOW), ("Threshold", "5 of 10 unhealthy", NOW)),
        (Memory(standing=standing("hold", "disk swap")), None, (HELD_BY_PERSON, "disk swap", NOW)),
        (Memory(standing=standing("hold")), THRESHOLD, (HELD_BY_PERSON, None, NOW)),
        (
            replace(ACTED, loss=Loss(at=NOW, attempt=1)),
            None,
            (
                "BackOff",
                "its request was removed by another actor, the next one is due at 2026-03-01T12:01:00Z",
                NOW,
            ),
        ),
    ],
    ids=["detector", "person", "person without a reason", "lost request"],
)
def test_wait_has_the_words_of_what_holds_it(
    memory: Memory, hold: Hold | None, words: tuple[str, str | None, object]
) -> None:
    observation = held(hold).model_copy(update={"back_off_limit_seconds": 3600})
    move = next_move(observation, memory, NOW)
    assert isinstance(move, Wait)
    assert move.phase is Phase.HELD
    first = move.details.holds[0]
    assert (first.short, first.full, first.since) == words


def test_words_of_a_question_begin_with_its_deadline_and_others_with_the_reason() -> None:
    asked = HoldWords(short="ApprovalRequired", full="waits until noon", is_question=True)
    assert str(asked) == "waits until noon (ApprovalRequired)"
    assert str(THRESHOLD.words) == "Threshold: 5 of 10 unhealthy"
    assert str(HoldWords(short=HELD_BY_PERSON, since=NOW - timedelta(days=1))) == HELD_BY_PERSON
