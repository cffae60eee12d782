"""Moves: what an incident can do next; phases: where it is meanwhile; outcomes: how it ends."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from pydantic import Field

from health.model.admission import Admission
from health.model.chore_subject import ChoreSubject
from health.model.details import Details
from health.model.references import RequestReference
from health.model.remediation_request import INCIDENT
from objects.durations import JUST_AFTER
from objects.frozen import Frozen

LONGEST_WAIT = timedelta(days=7)
"""A timer that is longer asks again in between: no clock is trusted with the centuries of a bad timestamp."""


class Phase(StrEnum):
    """Where an incident is; shown by the query `state` and in the details of the workflow."""

    WAITING = "Waiting"
    HELD = "Held"
    ACTING = "Acting"
    REMEDIATING = "Remediating"
    EXHAUSTED = "Exhausted"
    """No step is left to try: it waits for `resume`."""
    HEALTHY_DELAY = "HealthyDelay"
    """The target is healthy again, and its requests are kept: for a healthyDelay, or until that is proven."""
    CLEANING_UP = "CleaningUp"
    LEFT_ALONE = "LeftAlone"
    ENDED = "Ended"


class Outcome(StrEnum):
    """How an incident ended."""

    RECOVERED = "Recovered"
    """The target became healthy before anything was done, or while it was left alone."""
    REMEDIATED = "Remediated"
    RELEASED = "Released"
    GONE = "Gone"
    WOULD_HAVE_REMEDIATED = "WouldHaveRemediated"
    """In shadow: what it would have done is recorded, and was not done."""


class AnnotationPatch(Frozen):
    """Annotations to be written on one request; None takes one away."""

    request: RequestReference
    annotations: dict[str, str | None] = Field(default_factory=dict)
    adopts: bool = False
    """Whether the name of the incident is written, too: nothing that travels here says which one that is."""

    @property
    def subject(self) -> ChoreSubject:
        """Tells it from the other patches of its request: one that fails puts off no other."""
        return ChoreSubject.of_annotations(self.request.uid, self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.annotations, *((INCIDENT,) if self.adopts else ()))

    def __str__(self) -> str:
        return f"annotate {self.request} with {', '.join(self._names)}"


class NextTransition(Frozen):
    """What takes an incident further by itself, in a cluster that stays as it is, as people are told it."""

    what: str
    """What happens then; without a time, what is waited for."""
    at: datetime | None = None
    """None: not before something changes in the cluster, or an order comes."""


BY_A_CHANGE = NextTransition(what="when something changes in the cluster, or by an order")
EVIDENCE_IS_SAVED = NextTransition(what="when its evidence is saved")
ACT_IS_OVER = NextTransition(what="when its attempt to act is over")
REQUESTS_ARE_GONE = NextTransition(what="when the requests are gone")


@dataclass(frozen=True)
class Until:
    """A moment that an incident waits for."""

    at: datetime
    what: str = ""
    """What happens then; "" for what takes the incident nowhere: a chore, a flag, a safety net."""
    is_passed: bool = False
    """Whether what happens needs `at` to have passed: it does not happen at that very moment."""

    @property
    def wakes_at(self) -> datetime:
        """When the timer ends."""
        return self.at + JUST_AFTER if self.is_passed else self.at

    @property
    def untold(self) -> Self:
        """The same moment where it takes the incident nowhere."""
        return replace(self, what="")


@dataclass(frozen=True)
class Wait:
    """Do nothing until a wake, an order or, where there is any, the first of some moments."""

    phase: Phase
    details: Details
    until: tuple[Until, ...] = ()
    otherwise: NextTransition = BY_A_CHANGE
    """What is waited for where none of these moments takes the incident further."""

    @property
    def next_transition(self) -> NextTransition:
        """Which of these moments takes the incident further first."""
        told = (one for one in self.until if one.what)
        first = min(told, key=lambda one: one.at, default=None)
        return NextTransition(what=first.what, at=first.at) if first else self.otherwise

    def requeue_after(self, now: datetime) -> timedelta | None:
        """How long the timer is; None: it waits for nothing but a wake or an order."""
        if not self.until:
            return None
        first = min(one.wakes_at for one in self.until)
        return max(timedelta(), min(first - now, LONGEST_WAIT))

    def or_until(self, *until: Until | None) -> Self:
        """The same, but not longer than until the first of these moments; None is none."""
        return replace(self, until=(*self.until, *(one for one in until if one is not None)))


@dataclass(frozen=True)
class TakeStep:
    """Carry out a step, as its admission permits."""

    step: int
    admission: Admission
    details: Details


@dataclass(frozen=True)
class RecordStep:
    """Record a step in place of taking it: the check is in shadow."""

    step: int
    details: Details


@dataclass(frozen=True)
class SaveEvidence:
    """Save what is true of the target, before the first step."""

    before: TakeStep | RecordStep
    details: Details


@dataclass(frozen=True)
class AnnotateRequests:
    """Write annotations on requests."""

    patches: tuple[AnnotationPatch, ...]
    phase: Phase
    details: Details
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class RenewLease:
    """Keep the Lease of the target while the remediator works."""

    phase: Phase
    details: Details
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class ReleaseLease:
    """Release the Lease of the target, and keep the requests."""

    phase: Phase
    details: Details
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class RemoveRequests:
    """Delete the requests and release the Lease."""

    details: Details


@dataclass(frozen=True)
class End:
    """Nothing is left to do."""

    outcome: Outcome
    details: Details


Move = (
    Wait
    | SaveEvidence
    | TakeStep
    | RecordStep
    | AnnotateRequests
    | RenewLease
    | ReleaseLease
    | RemoveRequests
    | End
)


def phase_of(move: Move) -> Phase:
    """The phase that an incident is in while it makes this move."""
    match move:
        case SaveEvidence() | TakeStep() | RecordStep():
            return Phase.ACTING
        case RemoveRequests():
            return Phase.CLEANING_UP
        case End():
            return Phase.ENDED
        case _:
            return move.phase


def next_transition_of(move: Move) -> NextTransition:
    """What takes an incident further that makes this move: a chore comes between a wait and its end."""
    match move:
        case SaveEvidence():
            return EVIDENCE_IS_SAVED
        case TakeStep() | RecordStep():
            return ACT_IS_OVER
        case RemoveRequests():
            return REQUESTS_ARE_GONE
        case End():
            return BY_A_CHANGE
        case _:
            return move.next_transition
