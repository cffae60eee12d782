"""Moves: what an incident can do next; phases: where it is meanwhile; outcomes: how it ends.

The rows of the runbook choose a move and its deadlines; `health.runbook.words` adds the words once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from pydantic import Field

from health.model.admission import Admission
from health.model.approval import Approval
from health.model.details import NO_WORDS, Details
from health.model.references import RequestReference
from health.model.remediation_request import INCIDENT
from health.model.task_subject import TaskSubject
from objects.durations import JUST_AFTER
from objects.frozen import Frozen
from objects.short_text import Brief

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


class NextEvent(StrEnum):
    """An event that moves the incident on, in words that may begin a sentence."""

    ABORT_ENDS = "the abort ends"
    APPROVAL_EXPIRES = "the question for an approval expires"
    ACT_IS_DUE = "its next attempt to act is due"
    ASKS_AGAIN = "asks the detector again"
    CLEANS_UP_AGAIN = "the failed clean-up is tried again"
    DEADLINE_PASSES = "its deadline passes"
    DELAY_ENDS = "healthyDelay ends"
    HOLD_ENDS = "the hold ends"
    LEASE_IS_RELEASED = "the remediation is overdue, and its Lease is released"
    ORDER_EXPIRES = "the order to remediate it expires"
    RECOVERY_IS_PROVEN = "its recovery is proven"
    STEP_TIMES_OUT = "its step times out"
    STOP_IS_GIVEN_UP = "it stops waiting for the stop annotation of the previous request"


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
class Deadline:
    """A time at which a wait ends, and the event that happens then."""

    at: datetime
    event: NextEvent | None = None
    """None: a maintenance task, a flag or a safety net, which does not move the incident on."""
    is_passed: bool = False
    """True if nothing happens at exactly `at`: the time must have passed."""
    is_renewal: bool = False
    """True for a renewal of the Lease, which needs no answer of the detector."""

    @property
    def wakes_at(self) -> datetime:
        return self.at + JUST_AFTER if self.is_passed else self.at


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Do nothing until a wake, an order, or the earliest of some deadlines."""

    phase: Phase
    details: Details = NO_WORDS
    until: tuple[Deadline, ...] = ()
    words: Mapping[NextEvent, str] = field(default_factory=dict)
    """Events with the step that follows them; an event that is not here says all."""
    otherwise: NextTransition = BY_A_CHANGE
    """What the incident waits for if none of these deadlines moves it on."""
    brief: Brief = field(default=Brief(), compare=False)
    """The difference from other waits, for the summary of its timer."""
    blocked: Blocked | None = None
    """Why nothing is done meanwhile; None: a timer, a remediator or a clean-up runs."""

    @property
    def next_deadline(self) -> Deadline | None:
        """The earliest deadline that moves the incident on."""
        named = (deadline for deadline in self.until if deadline.event is not None)
        return min(named, key=lambda deadline: deadline.at, default=None)

    @property
    def asks_next(self) -> bool:
        """True if the incident only asks the detector again then."""
        first = self.next_deadline
        return first is not None and first.event is NextEvent.ASKS_AGAIN

    @property
    def next_transition(self) -> NextTransition:
        """The event at the earliest deadline that moves the incident on, in words."""
        first = self.next_deadline
        if first is None or first.event is None:
            return self.otherwise
        return NextTransition(what=self.words.get(first.event, first.event), at=first.at)

    def requeue_after(self, now: datetime) -> timedelta | None:
        """The length of the timer; None: wait for a wake or an order only."""
        if not self.until:
            return None
        first = min(deadline.wakes_at for deadline in self.until)
        return max(timedelta(), min(first - now, LONGEST_WAIT))

    def is_short_hold(self, now: datetime) -> bool:
        """True if the incident is held and moves on within a minute."""
        at = self.next_transition.at
        return self.blocked is Blocked.HELD and at is not None and at - now < SHORT_HOLD

    def is_over_for_renewal(self, now: datetime) -> bool:
        """True if the renewal of the Lease is due, and no other deadline has passed."""
        due = [deadline for deadline in self.until if deadline.wakes_at <= now]
        return bool(due) and all(deadline.is_renewal for deadline in due)

    def with_next_renewal(self, at: datetime | None) -> Self:
        """The same wait after a renewal; None: the Lease is not renewed again."""
        others = tuple(deadline for deadline in self.until if not deadline.is_renewal)
        return replace(self, until=others).or_until(Deadline(at, is_renewal=True) if at else None)

    def or_until(self, *until: Deadline | None) -> Self:
        """The same wait, ended by any of these deadlines as well; None adds nothing."""
        return replace(self, until=(*self.until, *(deadline for deadline in until if deadline is not None)))


@dataclass(frozen=True)
class TakeStep:
    """Take a step, as its admission permits."""

    phase = Phase.ACTING
    next_transition = ACT_IS_OVER
    step: int
    admission: Admission
    details: Details = NO_WORDS


@dataclass(frozen=True)
class RecordStep:
    """Record a step instead of taking it: the check is in shadow."""

    phase = Phase.ACTING
    next_transition = ACT_IS_OVER
    step: int
    details: Details = NO_WORDS


@dataclass(frozen=True)
class AskApproval:
    """Ask a person whether the next step may be taken."""

    phase = Phase.HELD
    next_transition = BY_A_CHANGE
    approval: Approval
    details: Details = NO_WORDS


@dataclass(frozen=True)
class SaveEvidence:
    """Save the state of the target before the first step."""

    phase = Phase.ACTING
    next_transition = EVIDENCE_IS_SAVED
    before: TakeStep | RecordStep
    details: Details = NO_WORDS


@dataclass(frozen=True)
class AnnotateRequests:
    """Write annotations on one or several requests."""

    patches: tuple[AnnotationPatch, ...]
    phase: Phase = Phase.REMEDIATING
    details: Details = NO_WORDS
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class RenewLease:
    """Renew the Lease of the target while the remediator works."""

    phase: Phase = Phase.REMEDIATING
    details: Details = NO_WORDS
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class ReleaseLease:
    """Release the Lease of the target and keep the requests."""

    phase: Phase = Phase.REMEDIATING
    details: Details = NO_WORDS
    next_transition: NextTransition = BY_A_CHANGE


@dataclass(frozen=True)
class RemoveRequests:
    """Delete all requests of the incident and release its Lease."""

    phase = Phase.CLEANING_UP
    next_transition = REQUESTS_ARE_GONE
    details: Details = NO_WORDS


@dataclass(frozen=True)
class End:
    """End the workflow, because nothing is left to do."""

    phase = Phase.ENDED
    next_transition = BY_A_CHANGE
    outcome: Outcome
    details: Details = NO_WORDS


Maintenance = AnnotateRequests | RenewLease | ReleaseLease | RemoveRequests
"""A task that keeps what the incident made in order; its parameters follow from the memory."""
Act = SaveEvidence | TakeStep | RecordStep | AskApproval | Maintenance | End
Move = Wait | Act
