"""FailedAttempts: what could not be done, and when it is tried again.

Rule: what failed is never remembered as done (rule 47). It is tried again after 2, 4, 8, … 300 s with jitter,
no earlier than the API server says. For half a minute 403 is a fault like any other, since kube-apiserver
answers so to ServiceAccounts right after its start; then it is told as a missing right.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from objects.frozen import Frozen
from objects.timestamps import stamp

FIRST_RETRY = timedelta(seconds=2)
LONGEST_RETRY = timedelta(minutes=5)
FORBIDDEN_GRACE = timedelta(seconds=30)
"""How long 403 may be that of an API server that has just started."""
_MOST_DOUBLINGS = 30


@dataclass(frozen=True)
class Failed:
    """One attempt that failed now."""

    what: str
    """What could not be done, for people."""
    why: str
    is_forbidden: bool
    wait_seconds: float
    """How long the API server wants to be left alone."""
    now: datetime
    spread: float
    """Drawn between 0 and 1."""


class FailedAttempts(Frozen):
    """One attempt that failed, or several in a row; a subclass says of what."""

    what: str
    """For people."""
    why: str
    since: datetime
    """The first failure in the present row."""
    failed: datetime
    """The latest one."""
    failures: int = 1
    forbidden_since: datetime | None = None
    """The first of those in a row that were 403; None: the latest was none."""
    next_try: datetime | None
    """None: at once."""

    @property
    def is_right_missing(self) -> bool:
        """Whether the API server has refused for longer than one does that has just started."""
        return self.forbidden_since is not None and self.failed - self.forbidden_since >= FORBIDDEN_GRACE

    @property
    def reason(self) -> str:
        """Why it fails, and what that means."""
        missing = "a right is missing, or an admission plugin refuses: " if self.is_right_missing else ""
        return f"{missing}{self.why}"

    def __str__(self) -> str:
        again = f" (tried again at {stamp(self.next_try)})" if self.next_try else ""
        return f"cannot {self.what}: {self.reason}{again}"


def once_more(before: FailedAttempts | None, failed: Failed) -> dict[str, Any]:
    """The fields of FailedAttempts with one failure more."""
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
    """How long to wait after so many failures in a row; `spread` is drawn between 0 and 1.

    Between half and all of 2, 4, 8, … 300 s, and no earlier than the API server says.
    """
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    longest = min(FIRST_RETRY * 2**doublings, LONGEST_RETRY)
    least = timedelta(seconds=min(max(retry_after_seconds, 0), LONGEST_RETRY.total_seconds()))
    delay: timedelta = least + longest * (0.5 + spread / 2)
    return delay
