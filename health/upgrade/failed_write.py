"""FailedWrite: what could not be written on a check, and when it is tried again.

Rule: what failed is never remembered as done (rule 47). It is tried again after 2, 4, 8, … 300 s with jitter,
no earlier than the API server says; a check that had changed meanwhile as soon as the change is seen. For
half a minute 403 is a fault as any other, then it is told as a missing right.
"""

from datetime import datetime
from enum import StrEnum

from health.runbook.chores import FORBIDDEN_GRACE, retry_delay
from health.upgrade.pausable_check import PausePatch
from objects.frozen import Frozen, OpenEnum
from objects.timestamps import stamp


class WriteOutcome(StrEnum):
    """What became of one patch."""

    WRITTEN = "Written"
    GONE = "Gone"
    """The check is not there any more, or another one has its name."""
    CONFLICT = "Conflict"
    """The check had changed: what is to be done is decided anew."""
    FAILED = "Failed"


class PauseAnswer(Frozen):
    """What became of one patch; one that is of another version is as if it had failed."""

    uid: str
    outcome: OpenEnum[WriteOutcome]
    why: str = ""
    is_forbidden: bool = False
    wait_seconds: float = 0
    """How long the API server wants to be left alone."""


class FailedWrite(Frozen):
    """A patch that was not written, after one attempt or several in a row."""

    uid: str
    what: str
    """For people."""
    why: str
    outcome: OpenEnum[WriteOutcome]
    resource_version: str
    failures: int = 1
    since: datetime
    failed: datetime
    forbidden_since: datetime | None = None
    """The first of those in a row that were 403; None: the latest was none."""
    next_try: datetime | None = None
    """None: at once, as somebody ordered."""

    @classmethod
    def after(
        cls,
        before: "FailedWrite | None",
        patch: PausePatch,
        answer: PauseAnswer,
        now: datetime,
        spread: float,
    ) -> "FailedWrite":
        """The row with one failure more; `spread` is drawn between 0 and 1."""
        count = before.failures + 1 if before else 1
        forbidden_since = before.forbidden_since if before else None
        return cls(
            uid=patch.uid,
            what=str(patch),
            why=answer.why or str(answer.outcome),
            outcome=answer.outcome,
            resource_version=patch.resource_version,
            failures=count,
            since=before.since if before else now,
            failed=now,
            forbidden_since=(forbidden_since or now) if answer.is_forbidden else None,
            next_try=now + retry_delay(count, answer.wait_seconds, spread),
        )

    def put_off_until(self, resource_version: str, now: datetime) -> datetime | None:
        """When the check, seen at that resourceVersion, is patched again; None: now."""
        has_changed = resource_version != self.resource_version
        if self.next_try is None or self.next_try <= now:
            return None
        return None if has_changed and self.outcome is WriteOutcome.CONFLICT else self.next_try

    def due_at_once(self) -> "FailedWrite":
        """The row where a person has ordered something: it is tried at once."""
        return self.model_copy(update={"next_try": None})

    @property
    def is_right_missing(self) -> bool:
        """Whether the API server has refused for longer than one does that has just started."""
        return self.forbidden_since is not None and self.failed - self.forbidden_since >= FORBIDDEN_GRACE

    def __str__(self) -> str:
        missing = "a right is missing, or an admission plugin refuses: " if self.is_right_missing else ""
        again = f" (tried again at {stamp(self.next_try)})" if self.next_try else ""
        return f"cannot {self.what}: {missing}{self.why}{again}"
