"""Maintenance: the writes of an incident besides its steps: annotations, Leases, deletions. Pure.

Rule: each attempt is awaited for a bounded time, and a failed one is never remembered as done. It becomes a
note with what, why, since when, and the next try, with back-off and jitter (`failures`). Orders, recovery,
escalation and other tasks go on meanwhile. The end of the incident reports what could not be cleaned up.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.model.references import RequestReference, TargetReference
from health.model.task_subject import OF_LEASE, TaskSubject
from health.runbook.failures import Failed, FailedAttempts, once_more
from objects.frozen import Frozen
from objects.short_text import ShortText

CHECK_HANGING_AFTER = timedelta(minutes=1)
"""How long a finalizer may keep a request before the incident looks again without a wake."""


class MaintenanceTask(StrEnum):
    """The activities of maintenance tasks; the values are their names in Temporal."""

    ANNOTATE = "annotate"
    RENEW = "renew"
    CLEAN_UP = "clean_up"


def deleting(request: RequestReference) -> str:
    """The words for the deletion of a request; the next functions word the other attempts."""
    return f"delete {request}"


def releasing_lease(target: TargetReference) -> str:
    return f"give back the Lease of {target}"


def removing_confirmation(target: TargetReference) -> str:
    return f"remove a person's confirmation of health from {target}"


def renewing_lease(target: TargetReference) -> str:
    return f"renew the Lease of {target}"


class TaskFailure(Frozen):
    """One failed part of an attempt; the other parts of the attempt succeeded."""

    subject: TaskSubject = OF_LEASE
    what: ShortText
    """The words for the failed part: "delete Reboot/ns/node-1"."""
    why: ShortText
    is_forbidden: bool = False
    wait_seconds: float = 0
    """Seconds that the API server asked to wait."""


class TaskNote(FailedAttempts):
    """A maintenance task that failed and is still due."""

    task: MaintenanceTask
    subject: TaskSubject = OF_LEASE
    next_try: datetime


def after_attempt(  # noqa: PLR0913  an attempt has these parts
    notes: Iterable[TaskNote],
    *,
    task: MaintenanceTask,
    tried: Collection[TaskSubject],
    failures: Iterable[TaskFailure],
    now: datetime,
    spread: float,
) -> tuple[TaskNote, ...]:
    """The notes after an attempt at `task` for the subjects `tried`, of which `failures` failed."""
    known = {(note.task, note.subject): note for note in notes}
    earlier = {subject: known.pop((task, subject), None) for subject in tried}
    failed = (_note(task, one, earlier.get(one.subject), now, spread) for one in failures)
    return (*known.values(), *failed)


def _note(
    task: MaintenanceTask, failure: TaskFailure, before: TaskNote | None, now: datetime, spread: float
) -> TaskNote:
    failed = Failed(
        what=failure.what,
        why=failure.why,
        is_forbidden=failure.is_forbidden,
        wait_seconds=failure.wait_seconds,
        now=now,
        spread=spread,
    )
    return TaskNote(task=task, subject=failure.subject, **once_more(before, failed))


def next_try_of(notes: Iterable[TaskNote], task: MaintenanceTask, subject: TaskSubject) -> datetime | None:
    """When the maintenance task is tried again; None: it did not fail."""
    return next((one.next_try for one in notes if (one.task, one.subject) == (task, subject)), None)


def still_ahead(notes: Iterable[TaskNote], now: datetime) -> tuple[TaskNote, ...]:
    """The notes that still matter to a resting incident: a task that was due and not tried is obsolete."""
    return tuple(note for note in notes if now < note.next_try)


@dataclass(frozen=True)
class LeftBehind:
    """The objects that remain after an attempt to clean up."""

    hanging: tuple[RequestReference, ...] = ()
    """Requests that are being deleted and kept by a finalizer."""
    failed: tuple[RequestReference, ...] = ()
    """Requests whose deletion failed."""
    has_lease: bool = False

    @property
    def requests(self) -> tuple[RequestReference, ...]:
        return (*self.hanging, *self.failed)

    def again_at(self, notes: Iterable[TaskNote], now: datetime) -> datetime | None:
        """When the clean-up is tried again; None: nothing remains.

        Failed deletions follow their back-off. Requests being deleted, and a Lease without a note, are
        looked at each minute.
        """
        tries = [note.next_try for note in notes if note.task is MaintenanceTask.CLEAN_UP]
        if self.hanging or (self.has_lease and not tries):
            tries.append(now + CHECK_HANGING_AFTER)
        return min(tries, default=None)
