"""Moves: what an incident can do next; phases: where it is meanwhile; outcomes: how it ends."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from pydantic import Field

from health.model.admission import Admission
from health.model.approval import Approval
from health.model.details import Details
from health.model.references import RequestReference
from health.model.remediation_request import INCIDENT
from health.model.task_subject import TaskSubject
from objects.brief import Brief
from objects.durations import JUST_AFTER
from objects.frozen import Frozen

LONGEST_WAIT = timedelta(days=7)
"""Longer timers are split, because a bad timestamp may put a deadline centuries away."""
SHORT_HOLD = timedelta(minutes=1)
"""A hold that ends sooner is no state of an incident that people search for."""


class Phase(StrEnum):
    """Where an incident is; shown by the query `state` and in the details of the workflow."""

    WAITING = "Waiting"
    HELD = "Held"
    ACTING = "Acting"
    REMEDIATING = "Remediating"
    EXHAUSTED = "Exhausted"
    """Every step was tried; the incident waits for `resume` or recovery."""
    HEALTHY_DELAY = "HealthyDelay"
    """The target is healthy; its requests stay for the healthyDelay, or until recovery is proven."""
    CLEANING_UP = "CleaningUp"
    LEFT_ALONE = "LeftAlone"
    ENDED = "Ended"


class Blocked(StrEnum):
    """Why an open incident does nothing: the values of the search attribute for saved views."""

    HELD = "Held"
    APPROVAL_REQUIRED = "ApprovalRequired"
    EXHAUSTED = "Exhausted"
    LEFT_ALONE = "LeftAlone"


class Outcome(StrEnum):
    """How an incident ended, as its result and history say."""

    RECOVERED = "Recovered"
    """The target became healthy before anything was done, or while it was left alone."""
    REMEDIATED = "Remediated"
    RELEASED = "Released"
    GONE = "Gone"
    WOULD_HAVE_REMEDIATED = "WouldHaveRemediated"
    """In shadow: the steps were recorded and not taken."""


class AnnotationPatch(Frozen):
    """Annotations to write on one request; the value None removes an annotation."""

    request: RequestReference
    annotations: dict[str, str | None] = Field(default_factory=dict)
    adopts: bool = False
    """Whether to write the incident annotation too. The activity fills in its value."""

    @property
    def subject(self) -> TaskSubject:
        """Distinguishes this patch from others of the same request: a failed one delays no other."""
        return TaskSubject.of_annotations(self.request.uid, self.names)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.annotations, *((INCIDENT,) if self.adopts else ()))

    def __str__(self) -> str:
        return f"annotate {self.request} with {', '.join(self.names)}"


class NextTransition(Frozen):
    """The event that moves an incident on by itself while the cluster does not change, in words."""

    what: str
    """What happens at `at`; without a time, what the incident waits for."""
    at: datetime | None = None
    """None: the incident needs a change in the cluster or an order."""


BY_A_CHANGE = NextTransition(what="when something changes in the cluster, or by an order")
EVIDENCE_IS_SAVED = NextTransition(what="when its evidence is saved")
ACT_IS_OVER = NextTransition(what="when its attempt to act is over")
REQUESTS_ARE_GONE = NextTransition(what="when the requests are gone")


@dataclass(frozen=True)
class Until:
    """A moment that an incident waits for."""

    at: datetime
    what: str = ""
    """What happens then; "": a task, a flag or a safety net, which does not move the incident on."""
    is_passed: bool = False
    """Whether the time must have passed, because nothing happens at exactly `at`."""
    is_renewal: bool = False
    """True if only the Lease is to be renewed then, without an answer of the detector."""

    @property
    def wakes_at(self) -> datetime:
        return self.at + JUST_AFTER if self.is_passed else self.at

    @property
    def hidden(self) -> Self:
        """The same moment, but one that does not move the incident on."""
        return replace(self, what="")


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Do nothing until a wake, an order, or the earliest of some moments."""

    phase: Phase
    details: Details
    until: tuple[Until, ...] = ()
    otherwise: NextTransition = BY_A_CHANGE
    """What the incident waits for if none of these moments moves it on."""
    brief: Brief = field(default=Brief(), compare=False)
    """The difference from other waits, for the summary of its timer."""
    blocked: Blocked | None = None
    """Why nothing is done meanwhile; None: a timer, a remediator or a clean-up runs."""

    @property
    def next_transition(self) -> NextTransition:
        """The earliest moment that moves the incident on."""
        named = (moment for moment in self.until if moment.what)
        first = min(named, key=lambda moment: moment.at, default=None)
        return NextTransition(what=first.what, at=first.at) if first else self.otherwise

    def requeue_after(self, now: datetime) -> timedelta | None:
        """The length of the timer; None: wait for a wake or an order only."""
        if not self.until:
            return None
        first = min(moment.wakes_at for moment in self.until)
        return max(timedelta(), min(first - now, LONGEST_WAIT))

    def is_short_hold(self, now: datetime) -> bool:
        """True if the incident is held and moves on within a minute."""
        at = self.next_transition.at
        return self.blocked is Blocked.HELD and at is not None and at - now < SHORT_HOLD

    def is_over_for_renewal(self, now: datetime) -> bool:
        """True if the renewal of the Lease is due, and no other moment has come."""
        due = [moment for moment in self.until if moment.wakes_at <= now]
        return bool(due) and all(moment.is_renewal for moment in due)

    def with_next_renewal(self, at: datetime | None) -> Self:
        """The same wait after a renewal; None: the Lease is not renewed again."""
        others = tuple(moment for moment in self.until if not moment.is_renewal)
        return replace(self, until=others).or_until(Until(at, is_renewal=True) if at else None)

    def or_until(self, *until: Until | None) -> Self:
        """The same wait, ended by any of these moments as well; None adds nothing."""
        return replace(self, until=(*self.until, *(moment for moment in until if moment is not None)))


@dataclass(frozen=True)
class TakeStep:
    """Take a step, as its admission permits."""

    step: int
    admission: Admission
    details: Details


@dataclass(frozen=True)
class RecordStep:
    """Record a step instead of taking it: the check is in shadow."""

    step: int
    details: Details


@dataclass(frozen=True)
class AskApproval:
    """Ask a person whether the next step may be taken."""

    approval: Approval
    details: Details


@dataclass(frozen=True)
class SaveEvidence:
    """Save the state of the target before the first step."""

    before: TakeStep | RecordStep
    details: Details


@dataclass(frozen=True)
class AnnotateRequests:
    """Write annotations on one or several requests."""

    patches: tuple[AnnotationPatch, ...]
    phase: Phase
    details: Details
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class RenewLease:
    """Renew the Lease of the target while the remediator works."""

    phase: Phase
    details: Details
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class ReleaseLease:
    """Release the Lease of the target and keep the requests."""

    phase: Phase
    details: Details
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class RemoveRequests:
    """Delete all requests of the incident and release its Lease."""

    details: Details


@dataclass(frozen=True)
class End:
    """End the workflow, because nothing is left to do."""

    outcome: Outcome
    details: Details


Move = (
    Wait
    | SaveEvidence
    | TakeStep
    | RecordStep
    | AskApproval
    | AnnotateRequests
    | RenewLease
    | ReleaseLease
    | RemoveRequests
    | End
)


def phase_of(move: Move) -> Phase:
    match move:
        case SaveEvidence() | TakeStep() | RecordStep():
            return Phase.ACTING
        case AskApproval():
            return Phase.HELD
        case RemoveRequests():
            return Phase.CLEANING_UP
        case End():
            return Phase.ENDED
        case _:
            return move.phase


def next_transition_of(move: Move) -> NextTransition:
    """The event that moves the incident on after this move: a task comes between a wait and its end."""
    match move:
        case SaveEvidence():
            return EVIDENCE_IS_SAVED
        case TakeStep() | RecordStep():
            return ACT_IS_OVER
        case RemoveRequests():
            return REQUESTS_ARE_GONE
        case End() | AskApproval():
            return BY_A_CHANGE
        case _:
            return move.next_transition
