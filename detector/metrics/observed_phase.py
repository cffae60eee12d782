"""ObservedPhase: the phase of an open incident, by its last answer and the time.

The detector knows it without a call: it keeps each answer, and whether it is still up to date. The rows are
those of the runbook (`health.runbook.decide`), as far as they depend on that. Orders of people, results of
acts, and tried steps whose requests are gone are not visible here, so an incident that is left alone is
`Admitted` or `Held`.
"""

from datetime import datetime
from enum import StrEnum

from health.model.observation import ENDED, HoldReason, Observation, TargetState
from health.runbook.escalation import Plan
from health.runbook.recovery import with_proof_of_requests
from objects.frozen import label


class ObservedPhase(StrEnum):
    """The phase of an open incident, as far as the detector knows it."""

    WAITING = "Waiting"
    HELD = "Held"
    ADMITTED = "Admitted"
    """It may take its first or next step, and has not yet."""
    REQUESTED = "Requested"
    """A request exists, and its timeout is not over."""
    UNDER_WAY = "UnderWay"
    """The target is being deleted, or is marked for another controller."""
    EXHAUSTED = "Exhausted"
    """Every step failed: nothing more is done before a person resumes it."""
    CLEANING_UP = "CleaningUp"
    UNKNOWN = "Unknown"
    """It could not be started yet, or another detector answered it."""


def observed_phase(observation: Observation | None, now: datetime) -> ObservedPhase | None:
    """The phase at `now` of an incident with this last answer; None if nothing is left to do."""
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
    """The phase by its requests; None if all of them are over, and the next step is due."""
    if observation.state is TargetState.UNKNOWN:
        return ObservedPhase.REQUESTED  # its steps are not known, so its remediator goes on
    course = Plan(observation.steps).course(observation.requests, now)
    if course.is_exhausted:
        return ObservedPhase.EXHAUSTED
    return None if course.running is None else ObservedPhase.REQUESTED


def observed_hold(observation: Observation | None, now: datetime) -> str | None:
    """The label of the hold at `now` of an incident with this last answer; None without a hold."""
    if (
        observation is None
        or observation.hold is None
        or observed_phase(observation, now) is not ObservedPhase.HELD
    ):
        return None
    return label(observation.hold.reason, HoldReason)
