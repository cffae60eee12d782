"""Memory: what an incident knows that the cluster does not show, and how its own acts change it. Pure.

`health.runbook.learn` adds what observations show.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from health.model.admission import Intent
from health.model.approval import Approval, ApprovalAnswer, Progress
from health.model.details import HoldWords
from health.model.evidence import EvidenceRecord
from health.model.incident_result import (
    MOST_RECORDS,
    SAID_FROM,
    EndedRemediation,
    RequestRecord,
    ShadowRecord,
    Timeline,
    repeated,
)
from health.model.moves import AnnotationPatch
from health.model.observation import Hold, Observation
from health.model.order import Blocks, OrderRecord
from health.model.references import Action, RequestReference, Step, TemplateReference
from health.model.remediation_order import RemediationOrder
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import TaskSubject
from health.model.verdict import CountedFact
from health.runbook.escalation import Plan, Stepped
from health.runbook.failures import (
    FailingActs,
    LeftBehind,
    MaintenanceTask,
    TaskFailure,
    TaskNote,
    after_attempt,
    after_failure,
    finding,
    lasts,
    merged,
    patched,
    still_ahead,
)
from health.runbook.memory_parts import (
    SEEN_AFTER,
    Delays,
    Disruption,
    LeaseMemory,
    LeaseState,
    Loss,
    NewStart,
    NotificationMemory,
    RecoveryMemory,
)
from objects.bounds import FailFast, Time
from objects.short_text import ShortText
from objects.timestamps import stamp

NO_SHADOW = ShadowRecord()


@dataclass(frozen=True, kw_only=True)
class Memory(FailFast):
    """The memory of one incident, kept across runs."""

    orders: tuple[OrderRecord, ...] = ()
    """The orders of people, for its result."""
    standing: tuple[OrderRecord, ...] = ()
    """The orders of people that stand, each until its time is over or another order ends it."""
    requests: tuple[RequestReference, ...] = ()
    """Requests that it made or adopted and that it has not seen disappear."""
    withdrawn: tuple[str, ...] = ()
    """The uids of requests that it deleted and that a finalizer kept: their end is not a loss."""
    has_acted: bool = False
    lease: LeaseMemory = LeaseMemory()
    disruption: Disruption = Disruption()
    recovery: RecoveryMemory = RecoveryMemory()
    is_marked: bool = False
    """True if the target was last seen with a mark."""
    spent: tuple[TemplateReference, ...] = ()
    """Templates that were tried, whether or not their requests still exist."""
    taken: tuple[TemplateReference, ...] = ()
    """The templates of the steps with a timeout that were taken, whether or not they are over."""
    earlier: EndedRemediation | None = None
    """The remediation before this one; None: there was none, or it ended too long ago to matter."""
    steps: tuple[TemplateReference, ...] = ()
    """The templates of all steps, as last seen."""
    relapsed: tuple[TemplateReference, ...] = ()
    """Templates that count as tried because the failure came back (rule 64)."""
    reported: tuple[TemplateReference, ...] = ()
    """Those of them that the detector has got."""
    skipped: tuple[str, ...] = ()
    """The uids of requests that count as timed out by a person's order."""
    is_exhausted: bool = False
    """True if no step was left at the last observation of a known state."""
    patches: tuple[AnnotationPatch, ...] = ()
    """The annotations that it wrote, because the detector's state may be slightly older."""
    notes: tuple[TaskNote, ...] = ()
    """Maintenance tasks that failed, with their next try."""
    clean_up_at: Time | None = None
    """When the clean-up is due again because something remained; None: nothing remained."""
    cleaned_up: tuple[str, ...] = ()
    """The uids of the requests that the last clean-up saw."""
    holds: tuple[HoldWords, ...] = ()
    """The hold of the latest answer with its beginning, and while the state is unknown those before it."""
    found: Hold | None = None
    """The finding of the latest act that was held (health/runbook/failures.py); None after a completed step.
    """
    failing: FailingActs | None = None
    """The row of failed acts; None after a completed step."""
    loss: Loss | None = None
    """The latest loss of a request or mark."""
    attempt: int = 0
    """The number, in a row, of the remediation of the latest request; 0: there was no request yet."""
    skips_back_off: bool = False
    """By order of a person, until the next act."""
    starts_over: NewStart | None = None
    approval: Approval | None = None
    """The question whether a person approves the next step; None: none was asked, or it is over."""
    records: tuple[RequestRecord, ...] = ()
    """All requests that it made or found, for its result."""
    timeline: Timeline = Timeline()
    """Its events since it began."""
    began: Time | None = None
    """When its first run started; None: this is the first run."""
    order: RemediationOrder | None = None
    """The latest order to remediate its target, which looked healthy; None: a failure began the incident."""
    order_ended: ShortText | None = None
    """Why that order is over, if the incident ended it; None: a boot may have fulfilled it."""
    evidence: EvidenceRecord | None = None
    """The result of saving evidence; None: not tried."""
    notifications: NotificationMemory = NotificationMemory()
    counted: CountedFact | None = None
    """The failure as the detector counted it last; None: the target is not known to be unhealthy."""
    delays: Delays = Delays()
    """The failure, and how long its remediation was held and queued."""
    is_shadow: bool = False
    """True if it was in shadow at the last observation that knew it."""
    shadow: ShadowRecord = NO_SHADOW
    """The steps that it would have taken in shadow, and the acts of others."""

    # The orders of people.

    @property
    def held(self) -> OrderRecord | None:
        """The latest order that blocks new steps and keeps existing requests; None: there is none."""
        return next((order for order in reversed(self.standing) if order.blocks is Blocks.STEPS), None)

    @property
    def left_alone(self) -> OrderRecord | None:
        """The latest order to clean up and leave the target alone; None: there is none."""
        return next((order for order in reversed(self.standing) if order.blocks is Blocks.REMEDIATION), None)

    @property
    def blocking(self) -> tuple[OrderRecord, ...]:
        """The standing orders that block every step."""
        return tuple(order for order in self.standing if order.blocks is not None)

    @property
    def is_blocked(self) -> bool:
        return bool(self.blocking)

    def with_order(self, order: OrderRecord, *, stands: bool) -> Self:
        """The same with a new order; if it stands, it replaces a standing one of the same name."""
        others = tuple(standing for standing in self.standing if standing.order != order.order)
        orders = (*self.orders, order)[-MOST_RECORDS:]
        return replace(self, orders=orders, standing=(*others, order) if stands else self.standing)

    @property
    def unreported_orders(self) -> tuple[OrderRecord, ...]:
        """The orders and refusals that the detector has not got yet."""
        return tuple(order for order in self.orders if not order.is_reported)

    def is_approved(self, step: Step) -> bool:
        """True if this step was approved for this failure."""
        approval = self.approval
        return approval is not None and approval.is_for(step) and approval.answer is ApprovalAnswer.APPROVED

    @property
    def is_rejected(self) -> bool:
        """True if the step that it asked about was rejected."""
        return self.approval is not None and self.approval.answer is ApprovalAnswer.REJECTED

    # The steps of the remediation, and of the ones before it.

    @property
    def has_been_in_shadow(self) -> bool:
        """True if it is in shadow, or recorded something in an earlier shadow."""
        return self.is_shadow or self.shadow != NO_SHADOW

    @property
    def is_before_the_first_step(self) -> bool:
        """True before the first step of a remediation: no request exists and no step was tried."""
        return not self.requests and not self.spent

    @property
    def owns_something(self) -> bool:
        """True if an object in the cluster must be cleaned up before the incident may end."""
        return bool(self.requests) or self.lease.may_be_held

    @property
    def tried(self) -> tuple[TemplateReference, ...]:
        """The templates that get no further request."""
        return (*self.relapsed, *self.spent)

    def plan(self, check: Stepped) -> Plan:
        """The steps of a check or an observation, with those that this incident has tried."""
        return Plan(check.steps, self.tried, self.skipped)

    def with_taken(self, steps: Iterable[Step]) -> tuple[TemplateReference, ...]:
        """The templates of the steps taken, with these; a classic step has none after it."""
        templates = (step.template for step in steps if step.timeout_seconds is not None)
        return tuple(dict.fromkeys((*self.taken, *templates)))

    @property
    def in_a_row(self) -> int:
        """How many remediations in a row, with this one, took these first steps alone; 0: it took others."""
        if not _goes_on(self.taken, self.steps):
            return 0
        return 1 + (self.earlier.in_a_row if self.earlier and self.earlier.taken == self.taken else 0)

    @property
    def repetition(self) -> str | None:
        """How often in a row the first steps alone were taken, with this one, in words; None: seldom."""
        if self.in_a_row >= SAID_FROM:
            return repeated(self.in_a_row, len(self.taken))
        earlier = self.earlier.taken if self.earlier and not self.relapsed else ()
        is_on_its_way = _goes_on(self.taken, earlier) and _goes_on(earlier, self.steps)
        return self.earlier.repetition or None if self.earlier and is_on_its_way else None

    @property
    def relapse(self) -> str | None:
        """Which steps are not taken again after an earlier remediation, in words; None: all are."""
        if self.earlier is None or not self.relapsed:
            return None
        named, ended = ", ".join(one.name for one in self.relapsed), stamp(self.earlier.ended)
        return f"the remediation that ended at {ended} took {named}, and the next step follows"

    def ended_remediation(self, at: datetime | None) -> EndedRemediation | None:
        """The latest remediation, if this one ended at that time; None: without a recovery."""
        if not self.taken:
            return self.earlier
        steps = tuple(dict.fromkeys((*self.tried, *self.taken)))
        return EndedRemediation(ended=at, taken=steps, in_a_row=self.in_a_row) if at else None

    def attempts_before(self, observation: Observation) -> int:
        """Remediations in a row that have ended; the detector may already count a loss among them."""
        return max(observation.earlier_attempts, self.loss.attempt if self.loss else 0)

    def attempt_of(self, observation: Observation) -> int:
        """The number, in a row, of the remediation that a request made now, or existing now, belongs to."""
        return max(self.attempt, self.attempts_before(observation) + 1)

    def settled(self, requests: tuple[RequestReference, ...], observation: Observation) -> tuple[str, ...]:
        """The uids of those of `requests` whose disappearance is not a loss.

        Either the incident deleted them itself, or the target recovered and failed again since, so that the
        detector counts their remediation as an earlier one.
        """
        if 0 < self.attempt <= observation.earlier_attempts:
            return tuple(request.uid for request in requests)
        return tuple(request.uid for request in requests if request.uid in self.withdrawn)

    # The question to the detector, and its answer.

    def intent(self, now: datetime) -> Intent:
        """The intent of a question at `now`."""
        backs_off = self.failing is not None and now < self.failing.next_act
        has_no_step = self.is_exhausted and not self.starts_over
        return Intent(
            would_act=not (self.is_blocked or backs_off or self.is_shadow or has_no_step),
            skips_back_off=self.skips_back_off,
            unproven_boot=self.recovery.boot_id_before or None,
        )

    @property
    def progress(self) -> Progress:
        """The part of the memory that a question reports."""
        return Progress(
            spent=self.tried,
            skipped=self.skipped,
            approval=self.approval,
            order_ended=self.order.given if self.order is not None and self.order_ended else None,
            standing=self.standing,
            skips_back_off=self.skips_back_off,
            holds=self.holds,
        )

    @property
    def has_report_due(self) -> bool:
        """True if the detector must get an order, the question to people or a relapse, at once."""
        is_relapse_due = self.relapsed != self.reported
        return is_relapse_due or bool(self.unreported_orders) or self.progress.unreported is not None

    def after_report(self, before: Self) -> Self:
        """The same once the detector answered a question that was asked with the memory `before`."""
        orders, approval = before.unreported_orders, self.approval
        reported = (
            order.model_copy(update={"is_reported": True}) if order in orders else order
            for order in self.orders
        )
        if approval is not None and approval == before.approval:
            approval = approval.model_copy(update={"is_reported": True})
        return replace(self, orders=tuple(reported), approval=approval, reported=before.relapsed)

    def complete(self, observation: Observation) -> Observation:
        """The observation with annotations that were written and may not be visible yet."""
        if not self.patches or not observation.requests:
            return observation
        return observation.model_copy(update={"requests": patched(observation.requests, self.patches)})

    # Time, and the acts of the incident.

    def at(self, now: datetime) -> Self:
        """The same at `now`, without expired orders and without a mark that should be visible by now."""
        marked_at = self.disruption.marked_at
        is_undone = marked_at is not None and now >= marked_at + SEEN_AFTER
        return replace(
            self,
            standing=tuple(order for order in self.standing if not order.is_over(now)),
            disruption=Disruption() if is_undone else self.disruption,
        )

    def resting(self, now: datetime) -> Self:
        """The same before the incident rests, without notes that became obsolete."""
        return replace(self, notes=still_ahead(self.notes, now))

    def is_only_renewed_since(self, before: Self) -> bool:
        """True if nothing but the time of the next renewal of the Lease differs from `before`."""
        return self == replace(before, lease=replace(before.lease, renew_at=self.lease.renew_at))

    def before_act(self, step: Step) -> Self:
        """The same once an act is ordered; its unknown results are assumed to have happened."""
        disruption = Disruption() if self.disruption.may_have_deleted else self.disruption
        if step.action is Action.DELETE:
            disruption = Disruption(action=Action.DELETE)
        return replace(self, lease=replace(self.lease, state=LeaseState.HELD), disruption=disruption)

    def _after_step(self) -> Self:
        """The same after an act that completed its step."""
        return replace(self, has_acted=True, found=None, failing=None, skips_back_off=False, approval=None)

    def after_request(
        self, step: Step, request: RequestSnapshot, acquired: datetime | None, now: datetime
    ) -> Self:
        """The same once the request of `step` exists.

        The Lease of a request that was found is due for renewal at once.
        """
        lease = self.lease.taken(step, acquired, now)
        others = (earlier for earlier in self.requests if earlier.uid != request.uid)
        return replace(
            self._after_step(),
            taken=self.with_taken((step,)),
            requests=(*others, request.reference),
            lease=replace(
                lease, request_acquired_at=lease.acquired_at, renew_at=lease.renew_at if acquired else now
            ),
            recovery=self.recovery.begun(request.boot_id, is_first=self.is_before_the_first_step),
            clean_up_at=None,
        )

    def after_disruption(
        self, step: Step, observation: Observation, acquired: datetime | None, now: datetime
    ) -> Self:
        """The same once the target was deleted or marked by `step`."""
        return replace(
            self._after_step(),
            disruption=Disruption(action=step.action, at=now),
            recovery=self.recovery.begun(observation.boot_id, is_first=self.is_before_the_first_step),
            attempt=self.attempt_of(observation),
            lease=self.lease.taken(step, acquired, now),
        )

    def after_failed_act(
        self, hold: Hold, observation: Observation, now: datetime, spread: float, *, is_forbidden: bool
    ) -> Self:
        """The same once an act was held by `hold`, which only the act may see."""
        failing = after_failure(self.failing, hold, observation, now, spread)
        is_reported = not is_forbidden or lasts(failing, now)
        return replace(self, failing=failing, found=finding(self.found, hold) if is_reported else self.found)

    def after_loss(self, gone: tuple[RequestReference, ...], observation: Observation, now: datetime) -> Self:
        """The same once an act found that another actor deleted these requests."""
        uids = {request.uid for request in gone}
        return replace(
            self,
            requests=tuple(request for request in self.requests if request.uid not in uids),
            approval=None,
            loss=Loss(at=now, attempt=self.attempt_of(observation)),
        )

    def after_attempt(
        self,
        task: MaintenanceTask,
        tried: Collection[TaskSubject],
        failures: Iterable[TaskFailure],
        now: datetime,
        spread: float,
    ) -> Self:
        """The same after an attempt at `task` for the subjects `tried`, with notes for failures."""
        notes = after_attempt(self.notes, task=task, tried=tried, failures=failures, now=now, spread=spread)
        return replace(self, notes=notes)

    def after_annotation(self, patches: tuple[AnnotationPatch, ...]) -> Self:
        return replace(self, patches=merged(self.patches, patches))

    def after_release(self) -> Self:
        """The same once the Lease was released while the requests stay."""
        return replace(self, lease=replace(self.lease, state=LeaseState.RELEASED, acquired_at=None))

    def after_clean_up(self, left: LeftBehind, requests: Iterable[RequestSnapshot], now: datetime) -> Self:
        """The same after a clean-up that left `left` behind; its failures are noted separately.

        `requests` are those before it: a request that another actor was already deleting was not withdrawn
        by us. While a request exists its remediator may be working, so the Lease is kept.
        """
        before = tuple(requests)
        not_ours = {request.uid for request in before if request.is_being_deleted}.difference(self.withdrawn)
        lease = self.lease
        if not left.has_lease:
            stays_released = lease.state is LeaseState.RELEASED and left.requests
            state = LeaseState.RELEASED if stays_released else LeaseState.NOT_TAKEN
            lease = replace(lease, state=state, acquired_at=None, renew_at=None)
        cleaned = replace(
            self,
            requests=left.requests,
            withdrawn=tuple(request.uid for request in left.hanging if request.uid not in not_ours),
            lease=lease,
            clean_up_at=left.again_at(self.notes, now),
            cleaned_up=tuple(sorted(request.uid for request in before)),
        )
        is_recovered = self.recovery.healthy_since is not None and not self.starts_over
        if left.requests and not is_recovered:
            return cleaned
        # The remediation is over; a request that hangs after a recovery is no part of the next one. Without a
        # recovery, no failure can come back.
        recovery = (
            self.recovery
            if self.starts_over
            else replace(self.recovery, has_begun=False, boot_id_before=None)
        )
        return replace(
            cleaned,
            earlier=self.ended_remediation(self.recovery.ended_at),
            recovery=recovery,
            spent=(),
            taken=(),
            relapsed=(),
            skipped=(),
            patches=(),
            is_exhausted=False,
        )


def _goes_on(some: Sequence[TemplateReference], steps: Sequence[TemplateReference]) -> bool:
    """True if these steps begin with `some`, and have others after them."""
    return len(some) < len(steps) and steps[: len(some)] == some
