"""Decision: the next move of an incident and its reason, still without words. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Self

from health.model.moves import BY_A_CHANGE, Act, Moment, NextTransition, Phase


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
