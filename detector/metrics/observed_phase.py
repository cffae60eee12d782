"""ObservedPhase: where an open incident stands, by what it was told last, and by the time.

What the detector can say truthfully and for nothing: it keeps what it answered each incident, and whether
that would still be no news. The rows are those of the runbook (`health.runbook.next_move`), as far as they
rest on that: it does not know of orders of people, nor of what an act met with, nor which steps were tried
whose requests are gone. So an incident that is left alone is `Admitted` or `Held` here.
"""

from datetime import datetime
from enum import StrEnum

from health.model.observation import ENDED, HoldReason, Observation, TargetState
from health.runbook.escalation import Plan
from health.runbook.proven_recovery import with_proof_of_requests
from objects.frozen import label


class ObservedPhase(StrEnum):
    """Where an open incident stands."""

    WAITING = "Waiting"
    HELD = "Held"
    ADMITTED = "Admitted"
    """It may take its first step, or the next one, and has not."""
    REQUESTED = "Requested"
    """A request has its time."""
    UNDER_WAY = "UnderWay"
    """The target is being deleted, or is marked for another controller; the end of that is awaited."""
    EXHAUSTED = "Exhausted"
    """Every step was tried in vain: nothing is done any more before a person says so."""
    CLEANING_UP = "CleaningUp"
    UNKNOWN = "Unknown"
    """It could not be started yet, or another detector answered it."""


def observed_phase(observation: Observation | None, now: datetime) -> ObservedPhase | None:
    """Where an incident stands at `now` that was last told this; None where nothing is left to do for it."""
    if observation is None:
        return ObservedPhase.UNKNOWN
    observation = with_proof_of_requests(observation)
    if observation.state in ENDED:
        return ObservedPhase.CLEANING_UP if observation.requests else None
    if observation.under_way:
        return ObservedPhase.UNDER_WAY
    of_requests = _by_requests(observation, now) if observation.requests else None
    if of_requests is not None:
        return of_requests
    if observation.state is TargetState.WAITING:
        return ObservedPhase.WAITING
    return ObservedPhase.ADMITTED if observation.hold is None else ObservedPhase.HELD


def _by_requests(observation: Observation, now: datetime) -> ObservedPhase | None:
    """What its requests say; None where all of them are over, and the next step is due."""
    if observation.state is TargetState.UNKNOWN:
        return ObservedPhase.REQUESTED  # nobody knows its steps, and its remediator is left undisturbed
    course = Plan(observation.steps).course(observation.requests, now)
    if course.is_exhausted:
        return ObservedPhase.EXHAUSTED
    return None if course.running is None else ObservedPhase.REQUESTED


def observed_hold(observation: Observation | None, now: datetime) -> str | None:
    """What holds an incident at `now` that was last told this, as a label; None where nothing does."""
    if (
        observation is None
        or observation.hold is None
        or observed_phase(observation, now) is not ObservedPhase.HELD
    ):
        return None
    return label(observation.hold.reason, HoldReason)
