"""FailedAttempts: a failed attempt, and when it is tried again.

Rule: a failed attempt is never remembered as done (rule 47). It is tried again after 2, 4, 8, … 300 s with
jitter, and no earlier than the API server asks. A 403 counts as an ordinary failure for half a minute,
because kube-apiserver answers so to ServiceAccounts right after its start; after that it is reported as a
missing right.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from objects.backoff import EQUAL_JITTER, Backoff
from objects.frozen import Frozen
from objects.short_text import ShortText
from objects.timestamps import stamp

RETRIES = Backoff(timedelta(seconds=2), timedelta(minutes=5), jitter=EQUAL_JITTER)
FORBIDDEN_GRACE = timedelta(seconds=30)
"""How long a 403 may come from an API server that has just started."""


@dataclass(frozen=True)
class Failed:
    """The latest failed attempt, before it is added to a row."""

    what: str
    """The failed action, in words."""
    why: str
    is_forbidden: bool
    wait_seconds: float
    """Seconds that the API server asked to wait."""
    now: datetime
    spread: float
    """A random number between 0 and 1."""


class FailedAttempts(Frozen):
    """One or several failed attempts in a row; a subclass names the action."""

    what: ShortText
    """The failed action, in words."""
    why: ShortText
    since: datetime
    """The first failure of the current row."""
    failed: datetime
    """The latest failure."""
    failures: int = 1
    forbidden_since: datetime | None = None
    """The first of the 403s in the row; None: the latest failure was not a 403."""
    next_try: datetime | None
    """None: the next attempt is due at once."""

    @property
    def is_right_missing(self) -> bool:
        """True if the API server has refused for longer than its start can explain."""
        return self.forbidden_since is not None and self.failed - self.forbidden_since >= FORBIDDEN_GRACE

    @property
    def reason(self) -> str:
        """Why the attempts fail, and whether a right is missing."""
        missing = "a right is missing, or an admission plugin refuses: " if self.is_right_missing else ""
        return f"{missing}{self.why}"

    def __str__(self) -> str:
        again = f" (tried again at {stamp(self.next_try)})" if self.next_try else ""
        return f"cannot {self.what}: {self.reason}{again}"


def once_more(before: FailedAttempts | None, failed: Failed) -> dict[str, Any]:
    """The fields of FailedAttempts after one more failure."""
    count = before.failures + 1 if before else 1
    forbidden_since = before.forbidden_since if before else None
    return {
        "what": failed.what,
        "why": failed.why,
        "since": before.since if before else failed.now,
        "failed": failed.now,
        "failures": count,
        "forbidden_since": (forbidden_since or failed.now) if failed.is_forbidden else None,
        "next_try": failed.now + retry_delay(count, failed.wait_seconds, failed.spread),
    }


def retry_delay(failures: int, retry_after_seconds: float, spread: float) -> timedelta:
    """The wait after this many failures in a row; `spread` is a random number between 0 and 1.

    Between half and all of 2, 4, 8, … 300 s, and no earlier than the API server asks.
    """
    asked = timedelta(seconds=min(max(retry_after_seconds, 0), RETRIES.longest.total_seconds()))
    return asked + RETRIES.wait(failures, spread)
