"""Memory: what an incident knows that the cluster does not show (yet), and what its own changes add. Pure.

What an observation adds is `health.runbook.learning`.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Self

from health.gate.act_finding import finding
from health.model.admission import Intent
from health.model.chore_subject import ChoreSubject
from health.model.evidence import EvidenceRecord
from health.model.incident_result import OrderRecord
from health.model.moves import AnnotationPatch
from health.model.observation import Hold, Observation
from health.model.references import RequestReference, Step, TemplateReference
from health.model.request_record import MOST_RECORDS, RequestRecord
from health.model.request_snapshot import RequestSnapshot
from health.model.shadow_record import ShadowRecord
from health.runbook.annotations import merged, patched
from health.runbook.chores import Chore, ChoreFailure, ChoreNote, LeftBehind, after_attempt, still_ahead
from health.runbook.disruption import Disruption
from health.runbook.escalation import lease_duration
from health.runbook.failing_acts import FailingActs, after_failure, lasts
from health.runbook.lease_memory import LeaseMemory
from health.runbook.recovery_memory import RecoveryMemory
from objects.frozen import Frozen

NO_SHADOW = ShadowRecord()
_DONE = {"has_acted": True, "found": None, "failing": None, "skips_back_off": False}
"""What an act leaves behind that did its step."""


class NewStart(Frozen):
    """By order of a person all requests go, then the steps are taken anew."""

    first_step: str = ""
    """The name of the template to begin with; "" for the first one."""


class Loss(Frozen):
    """Somebody deleted a request, or took a mark off, while the target was unhealthy."""

    at: datetime
    attempt: int
    """Which remediation in a row that was of: each loss counts as one (rule 14)."""


class Memory(Frozen):
    """What an incident remembers."""

    requests: tuple[RequestReference, ...] = ()
    """Requests that it made or adopted and has not seen removed."""
    withdrawn: tuple[str, ...] = ()
    """The uids of those that it deleted itself, and that a finalizer kept: their end is no loss."""
    has_acted: bool = False
    lease: LeaseMemory = LeaseMemory()
    disruption: Disruption = Disruption()
    recovery: RecoveryMemory = RecoveryMemory()
    is_marked: bool = False
    """Whether the target was seen to be marked."""
    spent: tuple[TemplateReference, ...] = ()
    """Templates that were tried, whether their requests still exist or not."""
    is_exhausted: bool = False
    """Whether no step was left to try, the last time that anybody could tell."""
    patches: tuple[AnnotationPatch, ...] = ()
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
    loss: Loss | None = None
    """The latest of them."""
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
    evidence: EvidenceRecord | None = None
    """What became of the evidence of its target; None: it was not tried."""
    is_shadow: bool = False
    """Whether nothing new may be written for it, the last time that anybody could tell."""
    shadow: ShadowRecord = NO_SHADOW
    """What it would have done, and others did, while that was so."""

    @property
    def hold_reason(self) -> str | None:
        """Why a person holds it; None where nobody does."""
        return self.held.reason if self.held else None

    @property
    def has_been_in_shadow(self) -> bool:
        """Whether it is, or did record something while it was."""
        return self.is_shadow or self.shadow != NO_SHADOW

    @property
    def is_before_the_first_step(self) -> bool:
        """Whether nothing of a remediation is there, or was tried."""
        return not self.requests and not self.spent

    @property
    def may_hold_control_plane_lock(self) -> bool:
        """An act that broke off does not say whether it took the lock."""
        return self.lease.is_of_control_plane or not self.has_acted

    @property
    def owns_something(self) -> bool:
        """Whether something in the cluster must go before the incident may end."""
        return bool(self.requests) or self.lease.may_be_held

    def intent(self, now: datetime) -> Intent:
        """What the incident would do at `now` with an admission."""
        backs_off = self.failing is not None and now < self.failing.next_act
        return Intent(
            would_act=not (self.left_alone or self.held or backs_off or self.is_shadow),
            skips_back_off=self.skips_back_off,
            unproven_boot=self.recovery.boot_id_before or "",
        )

    def attempt_of(self, seen: Observation) -> int:
        """Which remediation of the target in a row a request is of that is made or exists now."""
        return max(self.attempt, self.attempts_before(seen) + 1)

    def attempts_before(self, seen: Observation) -> int:
        """Remediations in a row that have ended: a loss may be one of those that the detector knows."""
        return max(seen.earlier_attempts, self.loss.attempt if self.loss else 0)

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
        return self._with(
            left_alone=_standing(self.left_alone, now),
            held=_standing(self.held, now),
            disruption=self.disruption.until(now),
        )

    def complete(self, seen: Observation) -> Observation:
        """What was seen, with the annotations that were written and may not be seen yet."""
        if not self.patches or not seen.requests:
            return seen
        return seen.model_copy(update={"requests": patched(seen.requests, self.patches)})

    def having_ordered(self, step: Step) -> Self:
        """The same from the moment that an act is ordered: what nobody knows of it is taken for the worse."""
        return self._with(lease=self.lease.ordered(), disruption=self.disruption.ordered(step))

    def having_acted(
        self, step: Step, request: RequestSnapshot, acquired: datetime | None, now: datetime
    ) -> Self:
        """The same once the request of `step` exists; the Lease of one that was found is renewed at once."""
        duration = lease_duration(step)
        lease = self.lease.taken(duration, acquired, now + duration / 2 if acquired else now)
        return self._with(
            requests=(*(one for one in self.requests if one.uid != request.uid), request.reference),
            lease=lease.for_request(request),
            recovery=self.recovery.begun(request.boot_id, is_first=self.is_before_the_first_step),
            clean_up_at=None,
            **_DONE,
        )

    def having_disrupted(
        self, step: Step, seen: Observation, acquired: datetime | None, now: datetime
    ) -> Self:
        """The same once the target was deleted or marked, as `step` says."""
        duration = lease_duration(step)
        return self._with(
            disruption=Disruption(action=step.action, at=now),
            recovery=self.recovery.begun(seen.boot_id, is_first=self.is_before_the_first_step),
            attempt=self.attempt_of(seen),
            lease=self.lease.taken(duration, acquired, now + duration / 2),
            **_DONE,
        )

    def having_failed_to_act(
        self, hold: Hold, seen: Observation, now: datetime, spread: float, *, is_forbidden: bool
    ) -> Self:
        """The same once an act was held by `hold`, which nobody but the act may see."""
        failing = after_failure(self.failing, hold, seen, now, spread)
        is_told = not is_forbidden or lasts(failing, now)
        return self._with(failing=failing, found=finding(self.found, hold) if is_told else self.found)

    def having_lost(self, gone: tuple[RequestReference, ...], seen: Observation, now: datetime) -> Self:
        """The same once an act found that somebody had deleted these requests."""
        uids = {request.uid for request in gone}
        return self._with(
            requests=tuple(known for known in self.requests if known.uid not in uids),
            loss=Loss(at=now, attempt=self.attempt_of(seen)),
        )

    def having_annotated(self, patches: tuple[AnnotationPatch, ...]) -> Self:
        """The same once these annotations were written."""
        return self._with(patches=merged(self.patches, patches))

    def having_released_lease(self) -> Self:
        """The same once the Lease was released, while the requests stay."""
        return self._with(lease=self.lease.released())

    def having_cleaned_up(self, left: LeftBehind, seen: Iterable[RequestSnapshot], now: datetime) -> Self:
        """The same once all was cleaned up but what is `left`; its failures are noted already.

        `seen` is how the requests were seen before: what somebody else was deleting then was not withdrawn by
        us. While a request is there its remediator may be at work, so the Lease is kept.
        """
        before = tuple(seen)
        not_ours = {one.uid for one in before if one.is_being_deleted}.difference(self.withdrawn)
        nothing_left = {} if left.requests else {"spent": (), "patches": (), "is_exhausted": False}
        is_over = not left.requests and not self.starts_over
        return self._with(
            requests=left.requests,
            withdrawn=tuple(one.uid for one in left.hanging if one.uid not in not_ours),
            lease=self.lease.after_clean_up(left),
            recovery=self.recovery.over() if is_over else self.recovery,
            clean_up_at=left.again_at(self.notes, now),
            cleaned_up=tuple(sorted(one.uid for one in before)),
            **nothing_left,
        )

    def having_tried(
        self,
        chore: Chore,
        tried: Collection[ChoreSubject],
        failures: Iterable[ChoreFailure],
        now: datetime,
        spread: float,
    ) -> Self:
        """The same once `chore` was tried for the subjects `tried`: what it could not do is noted."""
        return self._with(notes=after_attempt(self.notes, chore, tried, failures, now, spread))

    def having_saved_evidence(self, record: EvidenceRecord) -> Self:
        """The same once evidence was saved, or not: it is tried once, as no step waits for it twice."""
        return self._with(evidence=record)

    def resting(self, now: datetime) -> Self:
        """The same when it rests."""
        return self._with(notes=still_ahead(self.notes, now))

    def having_been_ordered(self, order: OrderRecord) -> Self:
        """The same once a person gave an order."""
        return self._with(orders=(*self.orders, order)[-MOST_RECORDS:])

    def _with(self, **changes: object) -> Self:
        return self.model_copy(update=changes)


def _standing(order: OrderRecord | None, now: datetime) -> OrderRecord | None:
    return None if order is None or order.is_over(now) else order
