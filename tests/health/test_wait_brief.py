"""The difference between waits: the hold, else the request or its step, else the condition."""

import pytest

from health.model.moves import Wait
from health.model.observation import Observation, TargetState
from health.runbook.decide import next_move
from health.runbook.learn import learned
from health.runbook.state import Memory
from tests.support.values.builders import CLASSIC, FIRST, HOLD, NOW, request_of, seen
from tests.support.values.memories import ACTED, standing

ONE = request_of(FIRST)
WAITING = seen(state=TargetState.WAITING, remaining_seconds=60)
HELD = Memory(standing=standing("hold", "disk swap"))
WHO_HOLDS = "held by a person: disk swap"


def brief(observation: Observation, memory: Memory) -> str:
    move = next_move(observation, learned(memory, observation, NOW), NOW)
    assert isinstance(move, Wait)
    return move.brief.within()


@pytest.mark.parametrize(
    ("observation", "memory", "expected"),
    [
        (WAITING, Memory(), "Ready is Unknown"),
        (seen(hold=HOLD), Memory(), "Threshold: 5 of 10 unhealthy, at most 4 allowed"),
        (seen(hold=HOLD), HELD, WHO_HOLDS),
        (seen(ONE), ACTED, "step 1 of 3, reboot"),
        (seen(ONE), ACTED.model_copy(update={"standing": HELD.standing}), WHO_HOLDS),
        (seen(ONE, steps=CLASSIC), ACTED, str(ONE)),
    ],
)
def test_wait_begins_with_what_differs(observation: Observation, memory: Memory, expected: str) -> None:
    assert brief(observation, memory) == expected
