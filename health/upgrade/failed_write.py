"""FailedWrite: a failed write to a check, and when it is tried again (`failed_attempts`).

A check that changed meanwhile gets a new decision as soon as the change is seen. A patch is unsettled while
its result is unknown: a frozen worker may still apply it, as long as the check has the resourceVersion that
the patch names. Until another write or observation shows another resourceVersion, the check counts neither
as written nor as unchanged.
"""

from datetime import datetime
from enum import StrEnum

from health.runbook.failures import Failed, FailedAttempts, once_more
from health.upgrade.pausable_check import PausePatch
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText


class WriteOutcome(StrEnum):
    """The result of one patch, as the worker classifies it."""

    WRITTEN = "Written"
    GONE = "Gone"
    """The check does not exist, or another one has its name."""
    CONFLICT = "Conflict"
    """The check had changed: the decision must be repeated."""
    REFUSED = "Refused"
    """It was not written, and never will be: the worker did not send it, or the API server refused it."""
    FAILED = "Failed"
    """Its result is unknown: it may have been written, or may be written later."""


class PauseAnswer(Frozen):
    """The result of one patch; a result of another version counts as a failure."""

    uid: str
    outcome: OpenEnum[WriteOutcome]
    why: ShortText = ""
    is_refused: bool = False
    wait_seconds: float = 0
    """Seconds that the API server asked to wait."""


class FailedWrite(FailedAttempts):
    """A patch that was not written, after one or several attempts in a row."""

    uid: str
    outcome: OpenEnum[WriteOutcome]
    resource_version: str
    unsettled: str = ""
    """The resourceVersion at which a patch may still be applied; "": none may."""
    next_try: datetime | None = None
    """None: at once, by a person's order."""

    @classmethod
    def after(
        cls,
        before: "FailedWrite | None",
        patch: PausePatch,
        answer: PauseAnswer,
        now: datetime,
        spread: float,
    ) -> "FailedWrite":
        """The row with one more failure; `spread` is a random number between 0 and 1."""
        why = answer.why or str(answer.outcome)
        failed = Failed(
            what=str(patch),
            why=why,
            is_refused=answer.is_refused,
            wait_seconds=answer.wait_seconds,
            now=now,
            spread=spread,
        )
        return cls(
            uid=patch.uid,
            outcome=answer.outcome,
            resource_version=patch.resource_version,
            unsettled=_unsettled(before, patch, answer),
            **once_more(before, failed),
        )

    def is_unsettled(self, resource_version: str) -> bool:
        """True if an earlier patch may still change a check that is seen at this resourceVersion.

        A conflict at the same resourceVersion means that the observation is old, so the result is unknown
        too.
        """
        return bool(self.unsettled) and self.unsettled == resource_version

    def put_off_until(self, resource_version: str, now: datetime) -> datetime | None:
        """When the check, seen at that resourceVersion, is patched again; None: now."""
        has_changed = resource_version != self.resource_version
        if self.next_try is None or self.next_try <= now:
            return None
        return None if has_changed and self.outcome is WriteOutcome.CONFLICT else self.next_try

    def due_at_once(self) -> "FailedWrite":
        """The row after a person's order: the next try is due at once."""
        return self.model_copy(update={"next_try": None})


def _unsettled(before: FailedWrite | None, patch: PausePatch, answer: PauseAnswer) -> str:
    """The unsettled resourceVersion; a refusal does not settle the patch before it."""
    if answer.outcome is WriteOutcome.REFUSED:
        return before.unsettled if before else ""
    return patch.resource_version
