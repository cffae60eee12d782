"""Chores: what an incident does in the cluster besides its steps: annotations, Leases, deletions. Pure.

Rule: each attempt is awaited for a bounded time, and a failed one is never remembered as done. It becomes a
note with what, why, since when, and the next try, with back-off and jitter (`failed_attempts`). Orders,
recovery, escalation and other chores go on meanwhile. The end of the incident reports what could not be
cleaned up.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.model.chore_subject import OF_LEASE, ChoreSubject
from health.model.references import RequestReference, TargetReference
from health.runbook.failed_attempts import Failed, FailedAttempts, once_more
from objects.frozen import Frozen
from objects.short_text import ShortText

CHECK_HANGING_AFTER = timedelta(minutes=1)
"""How long a finalizer may keep a request before the incident looks again without a wake."""


class Chore(StrEnum):
    """The activities of chores; the values are their names in Temporal."""

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


class ChoreFailure(Frozen):
    """One failed part of an attempt; the other parts of the attempt succeeded."""

    subject: ChoreSubject = OF_LEASE
    what: ShortText
    """The words for the failed part: "delete Reboot/ns/node-1"."""
    why: ShortText
    is_forbidden: bool = False
    wait_seconds: float = 0
    """Seconds that the API server asked to wait."""


class ChoreNote(FailedAttempts):
    """A chore that failed and is still due."""

    chore: Chore
    subject: ChoreSubject = OF_LEASE
    next_try: datetime


def after_attempt(  # noqa: PLR0913, PLR0917  an attempt has these parts
    notes: Iterable[ChoreNote],
    chore: Chore,
    tried: Collection[ChoreSubject],
    failures: Iterable[ChoreFailure],
    now: datetime,
    spread: float,
) -> tuple[ChoreNote, ...]:
    """The notes after an attempt at `chore` for the subjects `tried`, of which `failures` failed."""
    known = {(note.chore, note.subject): note for note in notes}
    earlier = {subject: known.pop((chore, subject), None) for subject in tried}
    failed = (_note(chore, one, earlier.get(one.subject), now, spread) for one in failures)
    return (*known.values(), *failed)


def _note(
    chore: Chore, failure: ChoreFailure, before: ChoreNote | None, now: datetime, spread: float
) -> ChoreNote:
    failed = Failed(failure.what, failure.why, failure.is_forbidden, failure.wait_seconds, now, spread)
    return ChoreNote(chore=chore, subject=failure.subject, **once_more(before, failed))


def is_put_off(notes: Iterable[ChoreNote], chore: Chore, subject: ChoreSubject, now: datetime) -> bool:
    """True if the chore failed and waits for its next try, although it is due."""
    next_try = next_try_of(notes, chore, subject)
    return next_try is not None and now < next_try


def next_try_of(notes: Iterable[ChoreNote], chore: Chore, subject: ChoreSubject) -> datetime | None:
    """When the chore is tried again; None: it did not fail."""
    return next((one.next_try for one in notes if (one.chore, one.subject) == (chore, subject)), None)


def still_ahead(notes: Iterable[ChoreNote], now: datetime) -> tuple[ChoreNote, ...]:
    """The notes that still matter to a resting incident: a chore that was due and not tried is obsolete."""
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

    def again_at(self, notes: Iterable[ChoreNote], now: datetime) -> datetime | None:
        """When the clean-up is tried again; None: nothing remains.

        Failed deletions follow their back-off. Requests being deleted, and a Lease without a note, are
        looked at each minute.
        """
        tries = [note.next_try for note in notes if note.chore is Chore.CLEAN_UP]
        if self.hanging or (self.has_lease and not tries):
            tries.append(now + CHECK_HANGING_AFTER)
        return min(tries, default=None)
