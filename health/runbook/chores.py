"""Chores: what an incident owes the cluster beside its steps: annotations, Leases, deletions. Pure.

Rule: each attempt is awaited for a bounded time, and one that failed is never remembered as done. It becomes
a note: what, why, since when, and when it is tried again, with back-off and jitter. Orders, recovery,
escalation and the other chores go on meanwhile. For half a minute 403 is a fault like any other, since
kube-apiserver answers so to ServiceAccounts right after its start; then it is told as a missing right
(rule 47). What remains once all was cleaned up that could be is told when the incident ends.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.model.chore_subject import OF_LEASE, ChoreSubject
from health.model.references import RequestReference, TargetReference
from objects.frozen import Frozen
from objects.timestamps import stamp

FIRST_RETRY = timedelta(seconds=2)
LONGEST_RETRY = timedelta(minutes=5)
FORBIDDEN_GRACE = timedelta(seconds=30)
"""How long 403 may be that of an API server that has just started."""
_MOST_DOUBLINGS = 30
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


class ChoreNote(Frozen):
    """What is still to be done, and failed so far."""

    chore: Chore
    subject: ChoreSubject = OF_LEASE
    what: str
    why: str
    since: datetime
    """The first failure in the present row."""
    forbidden_since: datetime | None = None
    """The first of those in a row that were 403; None: the latest was none."""
    failed: datetime
    """The latest one."""
    failures: int = 1
    next_try: datetime

    @property
    def is_right_missing(self) -> bool:
        """Whether the API server has refused for longer than one does that has just started."""
        return self.forbidden_since is not None and self.failed - self.forbidden_since >= FORBIDDEN_GRACE

    @property
    def reason(self) -> str:
        """Why it fails, and what that means."""
        return (
            f"a right is missing, or an admission plugin refuses: {self.why}"
            if self.is_right_missing
            else self.why
        )

    def __str__(self) -> str:
        return f"cannot {self.what}: {self.reason} (tried again at {stamp(self.next_try)})"


def retry_delay(failures: int, retry_after_seconds: float, spread: float) -> timedelta:
    """How long to wait after so many failures in a row; `spread` is drawn between 0 and 1.

    Between half and all of 2, 4, 8, … 300 s, and no earlier than the API server says.
    """
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    longest = min(FIRST_RETRY * 2**doublings, LONGEST_RETRY)
    least = timedelta(seconds=min(max(retry_after_seconds, 0), LONGEST_RETRY.total_seconds()))
    delay: timedelta = least + longest * (0.5 + spread / 2)
    return delay


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
    count = before.failures + 1 if before else 1
    forbidden_since = before.forbidden_since if before else None
    return ChoreNote(
        chore=chore,
        subject=failure.subject,
        what=failure.what,
        why=failure.why,
        since=before.since if before else now,
        forbidden_since=(forbidden_since or now) if failure.is_forbidden else None,
        failed=now,
        failures=count,
        next_try=now + retry_delay(count, failure.wait_seconds, spread),
    )


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
