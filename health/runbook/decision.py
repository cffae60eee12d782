"""Decision: what an incident does next and why, as values; `health.runbook.words` has the words. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import Self

from health.model.admission import Admission
from health.model.approval import Approval
from health.model.moves import BY_A_CHANGE, AnnotationPatch, NextTransition, Outcome, Phase


class Reason(Enum):
    """Why the runbook decides so: the row that matched."""

    NOT_NEEDED = auto()
    """The target is healthy, gone or released."""
    NODE_DELETION_EXPECTED = auto()
    RECOVERING = auto()
    """A healthyDelay runs, or a recovery is being proven."""
    DISRUPTED = auto()
    """The target was deleted or marked, or does not count as healthy yet."""
    LEFT_ALONE = auto()
    STARTS_OVER = auto()
    STATE_UNKNOWN = auto()
    REQUEST_RUNS = auto()
    EXHAUSTED = auto()
    MAINTAINED = auto()
    """A maintenance task is due while requests exist."""
    OVERDUE = auto()
    HELD_BY_PERSON = auto()
    HELD_BY_DETECTOR = auto()
    TIMER_RUNS = auto()
    STOP_AWAITED = auto()
    """The annotation that asks the previous remediator to stop could not be written yet."""
    NOTHING_TO_ACT_ON = auto()
    ACTS_FAIL = auto()
    REQUEST_LOST = auto()
    APPROVAL_MISSING = auto()
    STEP_REJECTED = auto()
    STEP_DUE = auto()
    ADMISSION_MISSING = auto()
    STEP_RECORDED = auto()
    """In shadow: the step is recorded, and nothing follows it."""
    REQUESTS_OF_OTHERS = auto()
    """In shadow: nothing is left to do, and requests of others still exist."""
    ORDER_REMAINS = auto()
    """In shadow: nothing is left to do, and a person's order is still on the target."""


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


@dataclass(frozen=True)
class Moment:
    """A moment at which a wait ends, and the event that happens then."""

    at: datetime
    event: NextEvent | None = None
    """None: a maintenance task or a safety net, which does not move the incident on."""
    is_passed: bool = False
    """True if nothing happens at exactly `at`: the time must have passed."""
    is_renewal: bool = False
    """True for a renewal of the Lease, which needs no answer of the detector."""


@dataclass(frozen=True)
class TakenStep:
    """Take the step with this index, under the admission of the detector."""

    step: int
    admission: Admission


@dataclass(frozen=True)
class AskedApproval:
    """Ask a person whether the next step may be taken."""

    approval: Approval


@dataclass(frozen=True)
class RecordedStep:
    """Record the step with this index instead of taking it."""

    step: int


@dataclass(frozen=True)
class SavedEvidence:
    """Save the state of the target before its first step."""

    before: TakenStep | RecordedStep


@dataclass(frozen=True)
class Annotated:
    """Write annotations on one or several requests of the target."""

    patches: tuple[AnnotationPatch, ...]


class Maintenance(Enum):
    """An act whose parameters all follow from the memory of the incident."""

    RENEW_LEASE = auto()
    RELEASE_LEASE = auto()
    REMOVE_REQUESTS = auto()


@dataclass(frozen=True)
class Ended:
    """End the incident, because nothing is left to do."""

    outcome: Outcome


Act = TakenStep | RecordedStep | AskedApproval | SavedEvidence | Annotated | Maintenance | Ended


@dataclass(frozen=True, kw_only=True)
class Decision:
    """An act, or a wait until the earliest of some moments."""

    phase: Phase
    reason: Reason
    until: tuple[Moment, ...] = ()
    """The moments of the wait; with an act, of the wait that follows it."""
    otherwise: NextTransition = BY_A_CHANGE
    """The event that the incident waits for if none of these moments moves it on."""
    act: Act | None = None
    """None: wait."""

    def or_until(self, moments: Iterable[Moment | None]) -> Self:
        """The same wait, ended by any of these moments as well; None adds nothing."""
        return replace(self, until=(*self.until, *(moment for moment in moments if moment is not None)))
