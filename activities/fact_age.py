"""The age of the facts that admitted a write: how old they may be, and by which clocks.

A process may be frozen, and a machine suspended, at any moment. So the age is measured by two clocks: since
the detector saw the facts, by the API server's; since the activity began, by one that cannot be set. Before
that, the clock of Temporal says how long the activity waited for a worker.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio import activity

from objects.durations import in_words
from workflows.contracts import CLOCK_TOLERANCE, FRESH


@dataclass(frozen=True)
class Clock:
    """The clocks of an activity that writes."""

    now: Callable[[], datetime]
    """The time of day by the API server's clock, as its latest answer tells it."""
    monotonic: Callable[[], float]
    """Seconds of a clock that cannot be set, and that counts the time of a suspended machine too."""

    def since(self, began: float) -> timedelta:
        """How long ago `began` was, by the monotonic clock."""
        return timedelta(seconds=self.monotonic() - began)

    def too_old(self, seen_at: datetime | None, began: float) -> str:
        """Why facts of `seen_at`, looked at since `began`, are not acted on now; "" where they may be."""
        return too_old(seen_at, self.now(), self.since(began))


def too_old(seen_at: datetime | None, now: datetime, since_look: timedelta) -> str:
    """Why what was admitted at `seen_at`, and looked at so long ago, is not acted on; "" where it may be."""
    if since_look > FRESH:
        return "the revalidation took too long to act on it"
    if seen_at is None:
        return "the order does not say when it was admitted"
    age = now - seen_at
    if age > FRESH + CLOCK_TOLERANCE:
        return f"this was admitted {in_words(age)} ago"
    if age < -CLOCK_TOLERANCE:
        return f"this was admitted {in_words(-age)} ahead of the clock of this worker"
    return ""


def waited_too_long() -> str:
    """Why the facts of this activity grew old in the queue, by the clock of Temporal; "": they did not."""
    info = activity.info()
    waited = info.started_time - info.scheduled_time
    return f"the order waited {in_words(waited)} for a worker" if waited > FRESH else ""
