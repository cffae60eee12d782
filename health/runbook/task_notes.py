"""Task notes: the writes of an incident besides its steps, as the incident remembers them. Pure.

The writes are annotations, Leases and deletions. Rule: each attempt is awaited for a bounded time, and a
failed one is never remembered as done. It becomes a note with what, why, since when, and the next try, with
back-off and jitter (`failures`). Orders, recovery, escalation and other tasks go on meanwhile. The end of the
incident reports what could not be cleaned up. The incident remembers the annotations that it wrote, because
the detector's state may be slightly older. `health.runbook.maintenance` decides which task is due.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.model.moves import AnnotationPatch
from health.model.references import RequestReference, TargetReference
from health.model.remediation_request import GREW_OLD, GREW_OLD_FLAG, HEALTHY_DELAY, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_LEASE, TaskSubject
from health.runbook.failures import FORBIDDEN_GRACE, retry_delay
from objects.frozen import Frozen
from objects.short_text import ShortText
from objects.timestamps import as_time, stamp

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
    return f"release the Lease of {target}"


def removing_confirmation(target: TargetReference) -> str:
    return f"remove a person's confirmation of health from {target}"


def removing_order(target: TargetReference) -> str:
    return f"remove the order to remediate from {target}"


def renewing_lease(target: TargetReference) -> str:
    return f"renew the Lease of {target}"


class TaskFailure(Frozen):
    """One failed part of an attempt; the other parts of the attempt succeeded."""

    subject: TaskSubject = OF_LEASE
    what: ShortText
    """The words for the failed part: "delete Reboot/ns/node-1"."""
    why: ShortText
    is_refused: bool = False
    wait_seconds: float = 0
    """Seconds that the API server asked to wait."""


class TaskNote(Frozen):
    """A maintenance task that failed, once or several times in a row, and is still due."""

    what: ShortText
    """The failed action, in words."""
    why: ShortText
    since: datetime
    """The first failure of the current row."""
    failed: datetime
    """The latest failure."""
    failures: int = 1
    refused_since: datetime | None = None
    """The first of the refusals in the row; None: the latest failure was no refusal."""
    task: MaintenanceTask
    subject: TaskSubject = OF_LEASE
    next_try: datetime

    @property
    def is_refused_for_long(self) -> bool:
        """True if the API server has refused for longer than its start can explain."""
        return self.refused_since is not None and self.failed - self.refused_since >= FORBIDDEN_GRACE

    @property
    def reason(self) -> str:
        """Why the attempts fail, and whether the cluster refuses them."""
        refused = "a right is missing, or an admission plugin or the schema refuses: "
        return f"{refused if self.is_refused_for_long else ''}{self.why}"

    def __str__(self) -> str:
        return f"cannot {self.what}: {self.reason} (tried again at {stamp(self.next_try)})"


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
    others = {(note.task, note.subject): note for note in notes}
    earlier = {subject: others.pop((task, subject), None) for subject in tried}
    failed = (_note(task, failure, earlier.get(failure.subject), now, spread) for failure in failures)
    return (*others.values(), *failed)


def _note(
    task: MaintenanceTask, failure: TaskFailure, before: TaskNote | None, now: datetime, spread: float
) -> TaskNote:
    count = before.failures + 1 if before else 1
    refused_since = before.refused_since if before else None
    return TaskNote(
        task=task,
        subject=failure.subject,
        what=failure.what,
        why=failure.why,
        since=before.since if before else now,
        failed=now,
        failures=count,
        refused_since=(refused_since or now) if failure.is_refused else None,
        next_try=now + retry_delay(count, failure.wait_seconds, spread),
    )


def next_try_of(notes: Iterable[TaskNote], task: MaintenanceTask, subject: TaskSubject) -> datetime | None:
    """When the maintenance task is tried again; None: it did not fail."""
    return next((note.next_try for note in notes if (note.task, note.subject) == (task, subject)), None)


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


WRITTEN = frozenset({TIMED_OUT, HEALTHY_DELAY, GREW_OLD})
"""All annotations written after the creation of a request, except that of the incident that adopts it."""


def merged(written: Iterable[AnnotationPatch], new: Iterable[AnnotationPatch]) -> tuple[AnnotationPatch, ...]:
    """All patches so far, merged into one patch per request."""
    patches = {patch.request.uid: patch for patch in written}
    for patch in new:
        before = patches.get(patch.request.uid)
        annotations = {**(before.annotations if before else {}), **patch.annotations}
        adopts = patch.adopts or (before is not None and before.adopts)
        patches[patch.request.uid] = AnnotationPatch(
            request=patch.request, annotations=annotations, adopts=adopts
        )
    return tuple(patches.values())


def patched(
    requests: Iterable[RequestSnapshot], patches: Iterable[AnnotationPatch]
) -> tuple[RequestSnapshot, ...]:
    """The requests as they look once `patches` are written."""
    return tuple(_patched(request, patches) for request in requests)


def _patched(request: RequestSnapshot, patches: Iterable[AnnotationPatch]) -> RequestSnapshot:
    changes: dict[str, object] = {}
    for patch in patches:
        if patch.request.uid == request.uid:
            changes |= dict(_fields(patch))
    if changes.get("healthy_since") and _is_stamped_by_another(request):
        del changes["healthy_since"]
    return request.model_copy(update=changes) if changes else request


def _is_stamped_by_another(request: RequestSnapshot) -> bool:
    """True if the timestamp is not ours: ours is readable and no older than the request."""
    return request.healthy_since is not None and request.healthy_since < request.created


def _fields(patch: AnnotationPatch) -> Iterator[tuple[str, object]]:
    if patch.adopts:
        yield "is_unsigned", False
    for name, text in patch.annotations.items():
        if name == TIMED_OUT:
            yield "timed_out_at", as_time(text)
        if name == HEALTHY_DELAY:
            yield "healthy_since", as_time(text)
        if name == GREW_OLD:
            yield "is_flagged_as_old", text == GREW_OLD_FLAG
