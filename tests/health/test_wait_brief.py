"""A wait: its brief (the hold, else the request or its step, else the condition) and its search attribute."""

from dataclasses import replace
from datetime import timedelta

import pytest

from health.model.moves import SHORT_HOLD, Blocked, Wait
from health.model.observation import Observation, TargetState
from health.runbook.decide import next_move
from health.runbook.learn import learned
from health.runbook.state import Memory
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    HOLD,
    NOW,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import ACTED, standing

ONE = request_of(FIRST)
WAITING = seen(state=TargetState.WAITING, remaining_seconds=60)
HELD = Memory(standing=standing("hold", "disk swap"))
WHO_HOLDS = "held by a person: disk swap"


def wait(observation: Observation, memory: Memory) -> Wait:
    move = next_move(observation, learned(memory, observation, NOW), NOW)
    assert isinstance(move, Wait)
    return move


def brief(observation: Observation, memory: Memory) -> str:
    return wait(observation, memory).brief.within()


@pytest.mark.parametrize(
    ("observation", "memory", "expected"),
    [
        (WAITING, Memory(), "Ready is Unknown"),
        (seen(hold=HOLD), Memory(), "Threshold: 5 of 10 unhealthy, at most 4 allowed"),
        (seen(hold=HOLD), HELD, WHO_HOLDS),
        (seen(ONE), ACTED, "step 1 of 3, reboot"),
        (seen(ONE), replace(ACTED, standing=HELD.standing), WHO_HOLDS),
        (seen(ONE, steps=CLASSIC), ACTED, str(ONE)),
    ],
)
def test_wait_begins_with_what_differs(observation: Observation, memory: Memory, expected: str) -> None:
    assert brief(observation, memory) == expected


@pytest.mark.parametrize(
    ("observation", "memory", "expected"),
    [
        (WAITING, Memory(), None),
        (seen(ONE), ACTED, None),
        (seen(ONE), replace(ACTED, standing=HELD.standing), None),
        (seen(hold=HOLD), Memory(), Blocked.HELD),
        (WAITING, HELD, Blocked.HELD),
        (seen(*with_steps_tried(*ESCALATION)), ACTED, Blocked.EXHAUSTED),
        (seen(), Memory(standing=standing("abort")), Blocked.LEFT_ALONE),
    ],
)
def test_saved_views_find_an_incident_by_what_blocks_it(
    observation: Observation, memory: Memory, expected: Blocked | None
) -> None:
    assert wait(observation, memory).blocked is expected


@pytest.mark.parametrize(("seconds", "is_short"), [(SHORT_HOLD.total_seconds() - 1, True), (60, False)])
def test_hold_of_less_than_a_minute_changes_no_saved_view(seconds: float, *, is_short: bool) -> None:
    held = wait(seen(hold=HOLD.model_copy(update={"ask_again_seconds": seconds})), Memory())
    assert held.is_short_hold(NOW) is is_short
    assert not held.is_short_hold(NOW - timedelta(minutes=2))
    assert not wait(WAITING, Memory()).is_short_hold(NOW)
