"""The age of the facts behind a write: how old they may be, and by which clocks.

A process may be frozen, and a machine suspended, at any moment. Two clocks measure the age, one since the
detector saw the facts (the API server's), one since the activity began (which cannot be set). The
time before that, in the task queue, is measured by Temporal's clock.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from temporalio import activity

from activities.attempt import StepHeld
from health.model.observation import HoldReason
from objects.durations import in_words
from workflows.contracts import ACT, CLOCK_TOLERANCE, FRESH


@dataclass(frozen=True)
class Clock:
    """The clocks of an activity that writes."""

    now: Callable[[], datetime]
    """The current time by the API server's clock, from its latest answer."""
    monotonic: Callable[[], float]
    """Seconds of a clock that cannot be set and that includes the time of a suspended machine."""

    def since(self, began: float) -> timedelta:
        """The time since `began`, by the monotonic clock."""
        return timedelta(seconds=self.monotonic() - began)

    def too_old(self, seen_at: datetime | None, began: float) -> str | None:
        """Why facts of `seen_at`, revalidated since `began`, are too old now; None if they are not."""
        if self.since(began) > FRESH:
            return "the revalidation took too long to act on it"
        if seen_at is None:
            return "the order does not say when it was admitted"
        age = self.now() - seen_at
        if age > FRESH + CLOCK_TOLERANCE:
            return f"this was admitted {in_words(age)} ago"
        if age < -CLOCK_TOLERANCE:
            return f"this was admitted {in_words(-age)} ahead of the clock of this worker"
        return None


@dataclass(frozen=True)
class FactAge:
    """The age of the facts of one act, since they were seen and since their revalidation began."""

    clock: Clock
    seen_at: datetime | None
    began: float

    @classmethod
    def from_now(cls, clock: Clock, seen_at: datetime | None) -> Self:
        """The age of facts whose revalidation begins now."""
        return cls(clock, seen_at, clock.monotonic())

    def refuse_old(self) -> None:
        """Refuse by two clocks, as a process may be frozen, and a machine suspended, at any moment before.

        Raises StepHeld.
        """
        if why := self.clock.too_old(self.seen_at, self.began):
            raise stale(why)

    @property
    def may_be_timed_out(self) -> bool:
        """True if Temporal may have timed the act out, by either clock since its admission."""
        is_late = self.seen_at is not None and self.clock.now() - self.seen_at > ACT.attempt
        return is_late or self.clock.since(self.began) > ACT.attempt


def waited_too_long() -> str | None:
    """Why the task waited too long in the queue, by Temporal's clock; None if it did not."""
    info = activity.info()
    waited = info.started_time - info.scheduled_time
    return f"the order waited {in_words(waited)} for a worker" if waited > FRESH else None


def stale(message: str) -> StepHeld:
    """The error for facts that are too old."""
    return StepHeld.because(HoldReason.STALE_FACTS, f"{message}: asking again", ask_again_seconds=0)
