"""Where an open incident stands, by what it was told."""

import pytest

from detector.metrics.observed_phase import ObservedPhase, observed_hold, observed_phase
from health.model.observation import Hold, HoldReason, Observation, TargetState
from tests.objects import request_snapshot

HOLD = Hold(reason=HoldReason.THRESHOLD, message="too many")


def told(state: TargetState, *, held: bool = False, requested: bool = False) -> Observation:
    requests = (request_snapshot(),) if requested else ()
    return Observation(state=state, reason="so it is", hold=HOLD if held else None, requests=requests)


@pytest.mark.parametrize(
    ("observation", "phase"),
    [
        (None, ObservedPhase.UNKNOWN),
        (told(TargetState.WAITING), ObservedPhase.WAITING),
        (told(TargetState.EXPIRED), ObservedPhase.ADMITTED),
        (told(TargetState.EXPIRED, held=True), ObservedPhase.HELD),
        (told(TargetState.UNKNOWN, held=True), ObservedPhase.HELD),
        (told(TargetState.EXPIRED, requested=True), ObservedPhase.REQUESTED),
        (told(TargetState.UNKNOWN, held=True, requested=True), ObservedPhase.REQUESTED),
        (told(TargetState.HEALTHY, requested=True), ObservedPhase.CLEANING_UP),
        (told(TargetState.GONE, requested=True), ObservedPhase.CLEANING_UP),
        (told(TargetState.HEALTHY), None),
        (told(TargetState.RELEASED), None),
    ],
)
def test_phase_follows_from_what_was_told(
    observation: Observation | None, phase: ObservedPhase | None
) -> None:
    assert observed_phase(observation) is phase


def test_threshold_that_is_broken_while_a_timer_runs_holds_nobody_yet() -> None:
    waiting = told(TargetState.WAITING, held=True)
    assert observed_phase(waiting) is ObservedPhase.WAITING
    assert observed_hold(waiting) is None


def test_only_what_is_held_has_a_reason() -> None:
    assert observed_hold(told(TargetState.EXPIRED, held=True)) is HoldReason.THRESHOLD
    assert observed_hold(told(TargetState.EXPIRED, held=True, requested=True)) is None
    assert observed_hold(told(TargetState.EXPIRED)) is None
    assert observed_hold(None) is None
