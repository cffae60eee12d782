"""Memory: what an incident knows that the cluster does not show (yet), and what its own changes add. Pure.

What a look at the cluster adds is `health.runbook.learning`.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Self

from health.gate.act_finding import finding
from health.model.incident_result import MOST_RECORDS, OrderRecord, RequestRecord
from health.model.moves import RequestMark
from health.model.observation import Hold, Observation
from health.model.references import Action, RequestReference, Step, TemplateReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import Chore, ChoreFailure, ChoreNote, LeftBehind, after_attempt, put_off
from health.runbook.escalation import CLASSIC_LEASE, lease_duration
from health.runbook.failing_acts import FailingActs, after_failure, lasts
from health.runbook.marks import added, with_marks
from objects.frozen import Frozen

SEEN_AFTER = timedelta(seconds=10)
"""How long a change of ours may take to be seen by the detector before it counts as undone."""


class NewStart(Frozen):
    """By order of a person all requests go, then the steps are taken anew."""

    first_step: str = ""
    """The name of the template to begin with; "" for the first one."""


class Memory(Frozen):
    """What an incident remembers."""

    requests: tuple[RequestReference, ...] = ()
    """Requests that it made or adopted and has not seen removed."""
    withdrawn: tuple[str, ...] = ()
    """The uids of those that it deleted itself, and that a finalizer kept: their end is no loss."""
    has_acted: bool = False
    may_hold_lease: bool = False
    """True from the moment an act was ordered: what an act that broke off left behind is given back too."""
    has_given_back: bool = False
    """The Lease, because the remediation was overdue; the next act takes it anew."""
    is_of_control_plane: bool = False
    """Whether it may hold the control-plane lock too."""
    lease_seconds: float = CLASSIC_LEASE.total_seconds()
    """How long the Lease of the target is taken for: as the step that runs says."""
    lease_acquired_at: datetime | None = None
    lease_sighted_at: datetime | None = None
    """What the detector last saw of that, where it was something else."""
    made_under: datetime | None = None
    """When the Lease was acquired under which it made its latest request; None if it found that one."""
    renew_at: datetime | None = None
    """When the Lease of the target is to be renewed next."""
    spent: tuple[TemplateReference, ...] = ()
    """Templates whose turn is over, whether their requests still exist or not."""
    may_have_deleted: bool = False
    """Whether the deletion of the target was ordered, and nobody knows what became of the order."""
    is_marked: bool = False
    """Whether the target was seen to be marked."""
    marked_at: datetime | None = None
    """When it marked the target, until that is seen, or should have been: whose state lags, asks again."""
    deleted_at: datetime | None = None
    """When it deleted the target, which may not be gone yet."""
    is_exhausted: bool = False
    """Whether no step was left to try, the last time that anybody could tell."""
    marks: tuple[RequestMark, ...] = ()
    """What it wrote on requests; the detector's state may be a moment older."""
    notes: tuple[ChoreNote, ...] = ()
    """What it could not do beside its steps, and when that is tried again."""
    clean_up_at: datetime | None = None
    """When all is to be cleaned up again, because something of it remained; None: nothing did."""
    cleaned_up: tuple[str, ...] = ()
    """The uids of the requests that were seen when it was cleaned up last."""
    found: Hold | None = None
    """What the latest act found that held it (health/gate/act_finding.py); None once an act did its step."""
    failing: FailingActs | None = None
    """The row of acts that failed, up to the latest; None once one did its step."""
    lost: int = 0
    """Requests that somebody deleted while the target was unhealthy: each counts as an attempt."""
    lost_at: datetime | None = None
    lost_attempt: int = 0
    """Which remediation in a row the latest of them was of."""
    attempt: int = 0
    """Which remediation of the target in a row its latest request is of; 0 before there was one."""
    skips_back_off: bool = False
    """By order of a person, until the next act."""
    starts_over: NewStart | None = None
    records: tuple[RequestRecord, ...] = ()
    """Of all requests that it made or found, for its result."""
    orders: tuple[OrderRecord, ...] = ()
    """Of people, for its result."""
    began: datetime | None = None
    """When its first run was started; None: this is the first."""
    left_alone: OrderRecord | None = None
    """The order that all is cleaned up, and nothing done; None: none stands."""
    held: OrderRecord | None = None
    """The order that nothing new is done, and what exists is kept."""

    @property
    def hold_reason(self) -> str | None:
        """Why a person holds it; None where nobody does."""
        return self.held.reason if self.held else None

    @property
    def has_deleted(self) -> bool:
        """Whether it deleted the target."""
        return self.deleted_at is not None

    @property
    def holds_lease(self) -> bool:
        """Whether the Lease of the target was surely taken, and not given back."""
        return self.may_hold_lease and self.lease_acquired_at is not None

    @property
    def may_hold_turn(self) -> bool:
        """Whether it may hold the control-plane lock: an act that broke off does not say."""
        return self.is_of_control_plane or not self.has_acted

    @property
    def owns_something(self) -> bool:
        """Whether something in the cluster must go before the incident may end."""
        return bool(self.requests) or self.may_hold_lease

    def attempt_of(self, seen: Observation) -> int:
        """Which remediation of the target in a row a request is of that is made or exists now."""
        return max(self.attempt, self.attempts_before(seen) + 1)

    def attempts_before(self, seen: Observation) -> int:
        """Remediations in a row that have ended: a loss may be one of those that the detector knows."""
        return max(seen.earlier_attempts, self.lost_attempt)

    def settled(self, known: tuple[RequestReference, ...], seen: Observation) -> tuple[str, ...]:
        """The uids of those of `known` whose end is no loss, by whatever hand they went.

        The incident deleted them itself; or its target recovered and failed again since, and the detector
        counts their remediation as an earlier one.
        """
        if 0 < self.attempt <= seen.earlier_attempts:
            return tuple(one.uid for one in known)
        return tuple(one.uid for one in known if one.uid in self.withdrawn)

    def at(self, now: datetime) -> Self:
        """The same at `now`: an order for a time ends when the time is over, and so does patience."""
        over: dict[str, object] = {}
        if self.left_alone and self.left_alone.is_over(now):
            over["left_alone"] = None
        if self.held and self.held.is_over(now):
            over["held"] = None
        if self.marked_at is not None and now >= self.marked_at + SEEN_AFTER:
            over["marked_at"] = None
        return self.model_copy(update=over) if over else self

    def complete(self, seen: Observation) -> Observation:
        """What was seen, with the marks that were written and may not be seen yet."""
        if not self.marks or not seen.requests:
            return seen
        return seen.model_copy(update={"requests": with_marks(seen.requests, self.marks)})

    def having_acted(
        self, step: Step, request: RequestSnapshot, acquired: datetime | None, now: datetime
    ) -> Self:
        """The same once the request of `step` exists."""
        others = tuple(known for known in self.requests if known.uid != request.uid)
        duration = lease_duration(step)
        changes: dict[str, object] = {
            "requests": (*others, request.reference),
            "is_of_control_plane": request.is_of_control_plane,
            "has_acted": True,
            "has_given_back": False,
            "clean_up_at": None,
            "found": None,
            "failing": None,
            "lease_seconds": duration.total_seconds(),
            "lease_acquired_at": acquired or self.lease_acquired_at,
            "made_under": acquired or self.lease_acquired_at,
            # Nobody says until when the Lease runs of a request that was found: it is renewed at once.
            "renew_at": now + duration / 2 if acquired else now,
            "skips_back_off": False,
        }
        return self.model_copy(update=changes)

    def having_disrupted(
        self, step: Step, seen: Observation, acquired: datetime | None, now: datetime
    ) -> Self:
        """The same once the target was deleted or marked, as `step` says."""
        duration = lease_duration(step)
        changes: dict[str, object] = {
            "has_acted": True,
            "found": None,
            "failing": None,
            "deleted_at": now if step.action is Action.DELETE else None,
            "may_have_deleted": False,
            "marked_at": now if step.action is Action.MARK else None,
            "attempt": self.attempt_of(seen),
            "lease_seconds": duration.total_seconds(),
            "lease_acquired_at": acquired or self.lease_acquired_at,
            "renew_at": now + duration / 2,
            "skips_back_off": False,
        }
        return self.model_copy(update=changes)

    def having_lost(self, gone: tuple[RequestReference, ...], seen: Observation, now: datetime) -> Self:
        """The same once these requests of ours were looked for, and somebody had deleted them."""
        uids = {request.uid for request in gone}
        changes: dict[str, object] = {
            "requests": tuple(known for known in self.requests if known.uid not in uids),
            "lost": self.lost + 1,
            "lost_at": now,
            "lost_attempt": self.attempt_of(seen),
        }
        return self.model_copy(update=changes)

    def having_marked(self, marks: tuple[RequestMark, ...]) -> Self:
        """The same once these annotations were written."""
        return self.model_copy(update={"marks": added(self.marks, marks)})

    def having_failed_to_act(
        self, hold: Hold, seen: Observation, now: datetime, spread: float, *, is_forbidden: bool
    ) -> Self:
        """The same once an act was held by `hold`, which nobody but the act may see."""
        failing = after_failure(self.failing, hold, seen, now, spread)
        is_told = not is_forbidden or lasts(failing, now)
        found = finding(self.found, hold) if is_told else self.found
        return self.model_copy(update={"failing": failing, "found": found})

    def having_given_back(self) -> Self:
        """The same once the Lease was given back, while the requests stay."""
        changes = {"may_hold_lease": False, "has_given_back": True, "lease_acquired_at": None}
        return self.model_copy(update=changes)

    def having_cleaned_up(self, left: LeftBehind, seen: Iterable[RequestSnapshot], now: datetime) -> Self:
        """The same once all was cleaned up but what is `left`; its failures are noted already.

        `seen` is how the requests were seen before: what somebody else was deleting then was not withdrawn by
        us. While a request is there its remediator may be at work, so the Lease is kept.
        """
        before = tuple(seen)
        not_ours = {one.uid for one in before if one.is_being_deleted}.difference(self.withdrawn)
        changes: dict[str, object] = {
            "requests": left.requests,
            "withdrawn": tuple(one.uid for one in left.hanging if one.uid not in not_ours),
            "may_hold_lease": left.has_lease,
            "clean_up_at": left.again_at(self.notes, now),
            "cleaned_up": tuple(sorted(one.uid for one in before)),
        }
        if not left.has_lease:
            changes |= {"renew_at": None, "lease_acquired_at": None}
        if not left.requests:
            changes |= {"spent": (), "marks": (), "has_given_back": False, "is_exhausted": False}
        return self.model_copy(update=changes)

    def having_tried(
        self,
        chore: Chore,
        tried: Collection[str],
        failures: Iterable[ChoreFailure],
        now: datetime,
        spread: float,
    ) -> Self:
        """The same once `chore` was tried for the subjects `tried`: what it could not do is noted."""
        return self.model_copy(
            update={"notes": after_attempt(self.notes, chore, tried, failures, now, spread)}
        )

    def note_of(self, chore: Chore, subject: str, now: datetime) -> ChoreNote | None:
        """Why this chore is not done now, though it is due; None: it may be tried."""
        return put_off(self.notes, chore, subject, now)

    def next_try_of(self, chore: Chore, subject: str) -> datetime | None:
        """When this chore is tried again; None where it did not fail."""
        notes = (one for one in self.notes if (one.chore, one.subject) == (chore, subject))
        return next((note.next_try for note in notes), None)

    def is_put_off(self, mark: RequestMark, now: datetime) -> bool:
        """Whether this was to be written before, failed, and is not tried again yet."""
        return self.note_of(Chore.MARK, mark.subject, now) is not None

    def ordered(self, order: OrderRecord) -> Self:
        """The same once a person gave an order."""
        return self.model_copy(update={"orders": (*self.orders, order)[-MOST_RECORDS:]})

    def resting(self, now: datetime) -> Self:
        """The same when it rests: what is due and was not tried has become needless."""
        left = tuple(note for note in self.notes if now < note.next_try)
        return self if left == self.notes else self.model_copy(update={"notes": left})

    def next_try(self, now: datetime) -> datetime | None:
        """When the first chore that failed is tried again: what is due by now has become needless."""
        return min((note.next_try for note in self.notes if now < note.next_try), default=None)
