"""Chores: what an incident owes the cluster beside its steps: annotations, Leases, deletions. Pure.

Rule: each attempt is awaited for a bounded time, and one that failed is never remembered as done. It becomes
a note: what, why, since when, and when it is tried again, with back-off and jitter (`failed_attempts`).
Orders, recovery, escalation and the other chores go on meanwhile. What remains once all was cleaned up that
could be is told when the incident ends.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.model.chore_subject import OF_LEASE, ChoreSubject
from health.model.references import RequestReference, TargetReference
from health.runbook.failed_attempts import Failed, FailedAttempts, once_more
from objects.frozen import Frozen

CHECK_HANGING_AFTER = timedelta(minutes=1)
"""How long a request may hang on a finalizer before it is looked at without a wake."""


class Chore(StrEnum):
    """What is to be done, by the name of its activity."""

    ANNOTATE = "annotate"
    RENEW = "renew"
    CLEAN_UP = "clean_up"


def deleting(request: RequestReference) -> str:
    """What a clean-up tries for a request, for people: the others say so of what else is tried."""
    return f"delete {request}"


def releasing_lease(target: TargetReference) -> str:
    """And for the Lease of its target, once no request is left."""
    return f"give back the Lease of {target}"


def removing_confirmation(target: TargetReference) -> str:
    """And for a person's word that the target is healthy."""
    return f"remove a person's confirmation of health from {target}"


def renewing_lease(target: TargetReference) -> str:
    """What a renewal tries."""
    return f"renew the Lease of {target}"


class ChoreFailure(Frozen):
    """One thing that an attempt could not do; the others of the same attempt are done."""

    subject: ChoreSubject = OF_LEASE
    what: str
    """What could not be done, for people: "delete Reboot/ns/node-1"."""
    why: str
    is_forbidden: bool = False
    wait_seconds: float = 0
    """How long the API server wants to be left alone."""


class ChoreNote(FailedAttempts):
    """What is still to be done, and failed so far."""

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
    """The notes once `chore` was tried for the subjects `tried`, and did not do `failures`."""
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
    """Whether this chore failed, and is not tried again yet, though it is due."""
    next_try = next_try_of(notes, chore, subject)
    return next_try is not None and now < next_try


def next_try_of(notes: Iterable[ChoreNote], chore: Chore, subject: ChoreSubject) -> datetime | None:
    """When this chore is tried again; None where it did not fail."""
    return next((one.next_try for one in notes if (one.chore, one.subject) == (chore, subject)), None)


def still_ahead(notes: Iterable[ChoreNote], now: datetime) -> tuple[ChoreNote, ...]:
    """Those of an incident that rests: what is due and was not tried has become needless."""
    return tuple(note for note in notes if now < note.next_try)


@dataclass(frozen=True)
class LeftBehind:
    """What remains once all was cleaned up that could be."""

    hanging: tuple[RequestReference, ...] = ()
    """Requests that are being deleted, and that a finalizer keeps."""
    failed: tuple[RequestReference, ...] = ()
    """Those that could not be deleted."""
    has_lease: bool = False

    @property
    def requests(self) -> tuple[RequestReference, ...]:
        """All that are there."""
        return (*self.hanging, *self.failed)

    def again_at(self, notes: Iterable[ChoreNote], now: datetime) -> datetime | None:
        """When it is tried again; None: nothing remains.

        By the back-off of what failed; each minute what is being deleted, and what nobody says anything of.
        """
        tries = [note.next_try for note in notes if note.chore is Chore.CLEAN_UP]
        if self.hanging or (self.has_lease and not tries):
            tries.append(now + CHECK_HANGING_AFTER)
        return min(tries, default=None)
