"""Failures: failed attempts of acts and of maintenance tasks, and when the next attempt is due. Pure.

Rule: each attempt is awaited for a bounded time, and a failed one is never remembered as done (rule 47).

The maintenance tasks write annotations, renew and release Leases, and delete requests. A failed attempt
becomes a note with what, why, since when, and the next try: after 2, 4, 8, … 300 s with jitter, and no
earlier than the API server asks. A refusal (400, 403 or 422) counts as an ordinary failure for half a minute,
because kube-apiserver answers 403 to ServiceAccounts right after its start; after that it is reported as a
refusal. Orders, recovery, escalation and other tasks go on meanwhile. The end of the incident reports what
could not be cleaned up. `health.runbook.deadlines` decides which task is due.

The wait between acts that fail in the same way is 5, 10, 20, … 300 s with jitter, and at least the time of
the hold if the API server refuses. An act that was too late is repeated at once after a new question, and a
403 after a second or two. An edit of the check or of a template, a new fact about the target, and a person's
`resume` end the row: the next act is due at once.

The findings of an act that no watch shows go into status and Events (rules 13 and 27, NHC 1.5). Examples are
the disruption budget of etcd, a Lease taken a moment ago, and the API server's answer to a request. An act
that broke off, or that met other facts than those of its admission, has no such finding; the finding of an
earlier act then stays.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.model.moves import AnnotationPatch
from health.model.observation import Hold, HoldReason, Observation
from health.model.references import RequestReference, TargetReference
from health.model.remediation_request import GREW_OLD, GREW_OLD_FLAG, HEALTHY_DELAY, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_LEASE, TaskSubject
from objects.backoff import EQUAL_JITTER, Backoff
from objects.frozen import Frozen
from objects.short_text import ShortText
from objects.timestamps import as_time, stamp

RETRIES = Backoff(timedelta(seconds=2), timedelta(minutes=5), jitter=EQUAL_JITTER)
"""The wait between two attempts at a maintenance task."""
REPEATS = Backoff(timedelta(seconds=5), timedelta(minutes=5), jitter=(1.0, 1.2))
"""The wait between two acts."""
AT_ONCE = timedelta(seconds=1.5)
"""The wait before the second attempt, for failures that are often momentary."""
FORBIDDEN_GRACE = timedelta(seconds=30)
"""How long a 403 may come from an API server that has just started."""
CHECK_HANGING_AFTER = timedelta(minutes=1)
"""How long a finalizer may keep a request before the incident looks again without a wake."""
_FAILING = frozenset({HoldReason.FAILED, HoldReason.REFUSED, HoldReason.STALE_FACTS, HoldReason.NOT_TRUE})
_FOUND = frozenset(
    {
        HoldReason.NO_CONTROLLER,
        HoldReason.TAKEN,
        HoldReason.TAKEN_BY_REQUEST,
        HoldReason.CONTROL_PLANE,
        HoldReason.EARLIER_REQUEST,
        HoldReason.TEMPLATE,
        HoldReason.REFUSED,
    }
)
"""The findings of an act that no watch shows."""


class FailingActs(Frozen):
    """A row of failed acts with the same inputs and reason."""

    count: int = 1
    since: datetime
    hold: Hold
    """Why the latest of them failed."""
    next_act: datetime
    basis: str | None = None
    """The inputs of these acts: another fact, check generation or template starts a new row."""

    def goes_on(self, observation: Observation) -> bool:
        """True if the next act would have the same inputs."""
        return self.basis == _inputs_of_act(observation)


def _inputs_of_act(observation: Observation) -> str:
    """The inputs of an act besides its target."""
    fact = observation.fact.identity if observation.fact else ""
    return f"{observation.generation}/{observation.templates}/{fact}"


def after_failure(
    before: FailingActs | None, hold: Hold, observation: Observation, now: datetime, spread: float
) -> FailingActs | None:
    """The row after an act held by `hold`; None: no failure. `spread` is between 0 and 1."""
    if hold.reason not in _FAILING:
        return None
    is_of_the_row = before is not None and before.hold.reason == hold.reason and before.goes_on(observation)
    row = before if is_of_the_row else None
    count = row.count + 1 if row else 1
    # A broken act may mean an overloaded server; the other failures are often momentary.
    limit = REPEATS.limit(count if hold.reason == HoldReason.FAILED else count - 1)
    of_the_hold = min(timedelta(seconds=hold.ask_again_seconds), REPEATS.longest)
    return FailingActs(
        count=count,
        since=row.since if row else now,
        hold=hold,
        next_act=now + REPEATS.spread(max(limit, of_the_hold), spread),
        basis=_inputs_of_act(observation),
    )


def lasts(failing: FailingActs | None, now: datetime) -> bool:
    """True if a row of 403s has lasted for longer than the start of an API server explains."""
    return failing is not None and now - failing.since >= FORBIDDEN_GRACE


def finding(before: Hold | None, hold: Hold | None) -> Hold | None:
    """The latest finding after an act that `hold` stopped, or nothing did; `before` is the earlier one."""
    return hold if hold is None or hold.reason in _FOUND or hold.request_error else before


def is_new(before: Hold | None, found: Hold | None) -> bool:
    """True if the finding needs a new report; the words of the same finding may differ at each act."""
    if found is None or before is None:
        return found is not None
    is_error, was_error = bool(found.request_error), bool(before.request_error)
    return (before.reason, was_error) != (found.reason, is_error)


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


def retry_delay(failures: int, retry_after_seconds: float, spread: float) -> timedelta:
    """The wait after this many failures in a row; `spread` is a random number between 0 and 1.

    Between half and all of 2, 4, 8, … 300 s, and no earlier than the API server asks.
    """
    requested = timedelta(seconds=min(max(retry_after_seconds, 0), RETRIES.longest.total_seconds()))
    return requested + RETRIES.wait(failures, spread)


def after_attempt(  # noqa: PLR0913  an attempt has these parts
    notes: Iterable[TaskNote],
    *,
    task: MaintenanceTask,
    tried: Collection[TaskSubject],
    failures: Iterable[TaskFailure],
    now: datetime,
    spread: float,
) -> tuple[TaskNote, ...]:
    """The notes after an attempt at `task` for the subjects `tried` with these failures."""
    noted = {(note.task, note.subject): note for note in notes}
    earlier = {subject: noted.pop((task, subject), None) for subject in tried}
    failed = []
    for failure in failures:
        before = earlier.get(failure.subject)
        count = before.failures + 1 if before else 1
        refused_since = before.refused_since if before else None
        note = TaskNote(
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
        failed.append(note)
    return (*noted.values(), *failed)


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
    written = {patch.request.uid: patch for patch in merged((), patches)}
    return tuple(_patched(request, written.get(request.uid)) for request in requests)


def _patched(request: RequestSnapshot, patch: AnnotationPatch | None) -> RequestSnapshot:
    if patch is None:
        return request
    timed_out = as_time(patch.annotations.get(TIMED_OUT))
    healthy = as_time(patch.annotations.get(HEALTHY_DELAY))
    changes: dict[str, object] = {}
    if patch.adopts:
        changes["is_unsigned"] = False
    if TIMED_OUT in patch.annotations:
        changes["timed_out_at"] = timed_out
    # A timestamp of ours is readable and no older than the request; that of another actor stays.
    is_of_another = request.healthy_since is not None and request.healthy_since < request.created
    if HEALTHY_DELAY in patch.annotations and not (healthy and is_of_another):
        changes["healthy_since"] = healthy
    if GREW_OLD in patch.annotations:
        changes["is_flagged_as_old"] = patch.annotations[GREW_OLD] == GREW_OLD_FLAG
    return request.model_copy(update=changes)
