"""Admission: may this incident act now? One pure function of one picture, asked at the moment of acting.

The rules stand in a table, the first that objects wins. Admission consumes nothing: the threshold counts
health, and a target that asks was already counted unhealthy. What acts, what status shows and what people
are told come from here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from health.durations import in_words
from health.observation import Hold, HoldReason
from health.threshold import Allowance

STALE_ASK_AGAIN_SECONDS = 10.0
RIVAL_ASK_AGAIN_SECONDS = 60.0
"""As the reference's requeue, where a rival's hold does not end by itself."""


@dataclass(frozen=True)
class Rival:
    """Somebody else who holds the target."""

    name: str
    seconds: float = RIVAL_ASK_AGAIN_SECONDS
    """When that hold runs out by itself."""


@dataclass(frozen=True)
class Question:
    """Everything that an admission is decided by, at one moment."""

    check_hold: Hold | None
    """Why the check as a whole allows nothing."""
    allowance: Allowance
    is_excluded: bool
    unread_requests: str = ""
    """Why it is not known which requests exist; then numbers and rivals are not known either."""
    rival: Rival | None = None
    earlier_request: str = ""
    """A request for an earlier target of this name that still exists."""


def stale_sight(age: timedelta | None, limit: timedelta) -> Hold | None:
    """Why nothing can be said at all: the picture is older than `limit`, or (None) was never complete."""
    if age is not None and age <= limit:
        return None
    message = (
        "the cluster was not read completely yet"
        if age is None
        else f"the last sign of life of the API server is {in_words(age)} old"
    )
    return Hold(reason=HoldReason.STALE_SIGHT, message=message, ask_again_seconds=STALE_ASK_AGAIN_SECONDS)


def admission(question: Question) -> Hold | None:
    """Why not; None means: go."""
    for rule in _RULES:
        hold = rule(question)
        if hold is not None:
            return hold
    return None


def _check(question: Question) -> Hold | None:
    return question.check_hold


def _unread_requests(question: Question) -> Hold | None:
    if not question.unread_requests:
        return None
    return Hold(
        reason=HoldReason.REQUESTS_UNREAD,
        message=question.unread_requests,
        ask_again_seconds=STALE_ASK_AGAIN_SECONDS,
    )


def _excluded(question: Question) -> Hold | None:
    if not question.is_excluded:
        return None
    return Hold(reason=HoldReason.EXCLUDED, message="the node is labelled to be excluded from remediation")


def _threshold(question: Question) -> Hold | None:
    if question.allowance.allowed:
        return None
    return Hold(reason=HoldReason.THRESHOLD, message=question.allowance.words)


def _earlier_request(question: Question) -> Hold | None:
    if not question.earlier_request:
        return None
    message = f"{question.earlier_request} of an earlier target of this name is still there"
    return Hold(reason=HoldReason.EARLIER_REQUEST, message=message)


def _taken(question: Question) -> Hold | None:
    rival = question.rival
    if rival is None:
        return None
    message = f"held by {rival.name}"
    return Hold(reason=HoldReason.TAKEN, message=message, ask_again_seconds=max(1.0, rival.seconds))


_RULES: tuple[Callable[[Question], Hold | None], ...] = (
    _check,
    _unread_requests,
    _excluded,
    _threshold,
    _earlier_request,
    _taken,
)
