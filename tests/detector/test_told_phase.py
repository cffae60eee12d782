"""Where an open incident stands, by what it was told."""

import pytest

from detector.metrics.told_phase import ToldPhase, told_hold, told_phase
from health.model.observation import Hold, HoldReason, Observation, TargetState
from tests.objects import request_snapshot

HOLD = Hold(reason=HoldReason.THRESHOLD, message="too many")


def told(state: TargetState, *, held: bool = False, requested: bool = False) -> Observation:
    requests = (request_snapshot(),) if requested else ()
    return Observation(state=state, reason="so it is", hold=HOLD if held else None, requests=requests)


@pytest.mark.parametrize(
    ("observation", "phase"),
    [
        (None, ToldPhase.UNKNOWN),
        (told(TargetState.WAITING), ToldPhase.WAITING),
        (told(TargetState.EXPIRED), ToldPhase.ADMITTED),
        (told(TargetState.EXPIRED, held=True), ToldPhase.HELD),
        (told(TargetState.UNKNOWN, held=True), ToldPhase.HELD),
        (told(TargetState.EXPIRED, requested=True), ToldPhase.REQUESTED),
        (told(TargetState.UNKNOWN, held=True, requested=True), ToldPhase.REQUESTED),
        (told(TargetState.HEALTHY, requested=True), ToldPhase.CLEANING_UP),
        (told(TargetState.GONE, requested=True), ToldPhase.CLEANING_UP),
        (told(TargetState.HEALTHY), None),
        (told(TargetState.RELEASED), None),
    ],
)
def test_phase_follows_from_what_was_told(observation: Observation | None, phase: ToldPhase | None) -> None:
    assert told_phase(observation) is phase


def test_threshold_that_is_broken_while_a_timer_runs_holds_nobody_yet() -> None:
    waiting = told(TargetState.WAITING, held=True)
    assert told_phase(waiting) is ToldPhase.WAITING
    assert told_hold(waiting) is None


def test_only_what_is_held_has_a_reason() -> None:
    assert told_hold(told(TargetState.EXPIRED, held=True)) is HoldReason.THRESHOLD
    assert told_hold(told(TargetState.EXPIRED, held=True, requested=True)) is None
    assert told_hold(told(TargetState.EXPIRED)) is None
    assert told_hold(None) is None
