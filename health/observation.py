"""Observation: what the detector answers an incident: the target, the check, and "may I?", at one moment.

These values travel through Temporal, so they are flat: no unions, seconds as numbers, a default for each
field that comes later.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from health.frozen import Frozen
from health.references import RequestReference, Step
from health.verdict import Fact


class TargetState(StrEnum):
    """What the target of an incident is."""

    HEALTHY = "Healthy"
    WAITING = "Waiting"
    EXPIRED = "Expired"
    GONE = "Gone"
    """It was deleted, or another individual of the same name took its place."""
    RELEASED = "Released"
    """The check no longer selects it, or the check itself was deleted."""
    UNKNOWN = "Unknown"
    """The detector cannot tell; its hold says why."""


ENDED = frozenset({TargetState.HEALTHY, TargetState.GONE, TargetState.RELEASED})
"""States in which an incident has nothing to do any more but to clean up."""


class HoldReason(StrEnum):
    """Why an incident may not act now."""

    STALE_SIGHT = "StaleSight"
    INVALID_CHECK = "InvalidCheck"
    INVALID_TARGET = "InvalidTarget"
    REQUESTS_UNREAD = "RequestsUnread"
    NOT_SUPPORTED = "NotSupported"
    PAUSED = "Paused"
    EXCLUDED = "Excluded"
    THRESHOLD = "Threshold"
    TAKEN = "Taken"
    EARLIER_REQUEST = "EarlierRequest"
    NOT_TRUE = "NotTrue"
    """The second look before an act found something else than what was admitted."""
    TEMPLATE = "Template"
    REFUSED = "Refused"


class Hold(Frozen):
    """A "no" with its reason, and when to ask again at the latest (a change wakes the incident earlier)."""

    reason: HoldReason
    message: str
    ask_again_seconds: float = 30 * 60

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class Observation(Frozen):
    """The answer to `observe`."""

    state: TargetState
    reason: str
    remaining_seconds: float = 0
    """While waiting: how long until the deadline."""
    fact: Fact | None = None
    hold: Hold | None = None
    """Why nothing may be done now; None is an admission."""
    steps: tuple[Step, ...] = ()
    requests: tuple[RequestReference, ...] = ()
    """The requests in the cluster that belong to this incident, those being deleted included."""
    generation: int = 0
    """The generation of the check that was judged by."""
    answered_at: datetime | None = None
    """When it was answered, by Temporal's clock."""

    @property
    def is_admitted(self) -> bool:
        """Whether the incident may act now."""
        return self.state is TargetState.EXPIRED and self.hold is None

    def is_outdated(self, now: datetime, fresh: timedelta) -> bool:
        """Whether an admission or a running timer was told too long ago to go by it (decision 4).

        A worker may be down between an answer and the task that reads it. What else was seen stays true
        until a look says otherwise.
        """
        if self.answered_at is None or self.requests:
            return False
        is_timed = self.is_admitted or self.state is TargetState.WAITING
        return is_timed and now - self.answered_at >= fresh


def is_news(told: Observation, now: Observation) -> bool:
    """Whether an incident that was told one observation must be woken for another.

    A deadline that passes is no news (the incident has its own timer), nor is a request that appears (it
    made that itself). A request that disappears is, unless the incident is removing it.
    """
    if (told.state in ENDED) != (now.state in ENDED) or (told.state in ENDED and told.state != now.state):
        return True
    if told.fact != now.fact or told.generation != now.generation:
        return True
    if _lost_a_request(told, now):
        return True
    return _is_held_otherwise(told, now)


def _is_held_otherwise(told: Observation, now: Observation) -> bool:
    """Whether what holds the incident is gone, or another reason: what people read must be true."""
    if told.hold is None or now.state is not TargetState.EXPIRED or now.requests:
        return False
    return now.hold is None or now.hold.reason is not told.hold.reason


def _lost_a_request(told: Observation, now: Observation) -> bool:
    left = {request.uid for request in now.requests}
    lost = [request for request in told.requests if request.uid not in left]
    if now.state in ENDED:
        # The incident deletes them itself now, and waits for those alone that a finalizer kept.
        return any(request.is_being_deleted for request in lost)
    return bool(lost)
