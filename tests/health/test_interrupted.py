"""Rows of the runbook that interrupt a remediation: its requests and its Lease are not maintained."""

from dataclasses import replace
from typing import Any

import pytest

from health.model.moves import Phase, Wait
from health.model.observation import Observation, TargetState
from health.runbook.deadlines import OLD
from health.runbook.decide import next_move
from health.runbook.memory_parts import NewStart
from health.runbook.state import Memory
from health.runbook.words import NOTHING_TO_ACT_ON
from tests.support.values.builders import FIRST, MINUTE, NOW, request_of, seen
from tests.support.values.memories import ACTED, standing

OLD_REQUEST = request_of(FIRST, age=OLD)
"""A request that would be flagged as old."""
HELD = replace(ACTED, standing=standing("hold"))
DELETES_AGAIN_LATER: dict[str, Any] = {"clean_up_at": NOW + MINUTE, "cleaned_up": (OLD_REQUEST.uid,)}


def waits(observation: Observation, memory: Memory) -> Wait:
    result = next_move(observation, memory, NOW)
    assert isinstance(result, Wait), result
    return result


@pytest.mark.parametrize(
    ("observation", "memory"),
    [
        pytest.param(
            seen(OLD_REQUEST, state=TargetState.HEALTHY, counts_as_healthy=False),
            ACTED,
            id="the target does not count as healthy yet",
        ),
        pytest.param(seen(OLD_REQUEST, under_way="it is being deleted"), ACTED, id="the target is deleted"),
        pytest.param(
            seen(OLD_REQUEST),
            replace(ACTED, starts_over=NewStart(), **DELETES_AGAIN_LATER),
            id="the incident starts over",
        ),
        pytest.param(
            seen(OLD_REQUEST),
            replace(ACTED, standing=standing("abort"), **DELETES_AGAIN_LATER),
            id="the target is left alone",
        ),
    ],
)
def test_old_request_gets_no_annotation(observation: Observation, memory: Memory) -> None:
    assert waits(observation, memory).phase in (Phase.REMEDIATING, Phase.CLEANING_UP)


def test_target_that_is_left_alone_has_no_timer() -> None:
    memory = Memory(standing=standing("abort"), spent=(FIRST.template,))
    assert waits(seen(), memory).until == ()


def test_hold_does_not_change_what_a_target_that_is_no_longer_unhealthy_waits_for() -> None:
    observation = seen(OLD_REQUEST, state=TargetState.HEALTHY, counts_as_healthy=False)
    assert waits(observation, HELD).next_transition.what == "when its remediator is done"


def test_check_without_steps_is_not_exhausted_before_it_tried_one() -> None:
    wait = waits(seen(steps=()), Memory())
    assert (wait.phase, NOTHING_TO_ACT_ON in str(wait.details)) == (Phase.HELD, True)
