"""ToldPhase: where an open incident stands, by what it was told last.

What the detector can say truthfully and for nothing: it keeps what it answered each incident, and whether
that would still be no news. It does not know of orders of people, nor of what an act met with: an incident
that is left alone is `Admitted` or `Held` here.
"""

from enum import StrEnum

from health.model.observation import ENDED, HoldReason, Observation, TargetState
from objects.frozen import label


class ObservedPhase(StrEnum):
    """Where an open incident stands."""

    WAITING = "Waiting"
    HELD = "Held"
    ADMITTED = "Admitted"
    """It may act, and there is no request yet."""
    REQUESTED = "Requested"
    CLEANING_UP = "CleaningUp"
    UNKNOWN = "Unknown"
    """It could not be started yet, or another detector answered it."""


def observed_phase(told: Observation | None) -> ObservedPhase | None:
    """Where an incident stands that was told this; None where nothing is left to do for it."""
    if told is None:
        return ObservedPhase.UNKNOWN
    if told.state in ENDED:
        return ObservedPhase.CLEANING_UP if told.requests else None
    if told.requests:
        return ObservedPhase.REQUESTED
    if told.state is TargetState.WAITING:
        return ObservedPhase.WAITING
    return ObservedPhase.ADMITTED if told.hold is None else ObservedPhase.HELD


def observed_hold(told: Observation | None) -> str | None:
    """What holds an incident that was told this, as a label; None where nothing does."""
    if told is None or told.hold is None or observed_phase(told) is not ObservedPhase.HELD:
        return None
    return label(told.hold.reason, HoldReason)
