"""Memory: what an incident knows that the cluster does not show yet, and how its own acts change it. Pure.

`health.runbook.learn` adds what observations show.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Self

from health.model.admission import Intent
from health.model.approval import Approval, ApprovalAnswer, Progress
from health.model.details import HoldWords
from health.model.evidence import EvidenceRecord
from health.model.incident_result import (
    SAID_FROM,
    EndedRemediation,
    RequestRecord,
    ShadowRecord,
    Timeline,
    repeated,
)
from health.model.moves import AnnotationPatch
from health.model.observation import Hold, Observation
from health.model.references import RequestReference, Step, TemplateReference
from health.model.remediation_order import RemediationOrder
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import TaskSubject
from health.model.verdict import CountedFact
from health.runbook.delays import Delays
from health.runbook.escalation import Plan, Stepped, lease_duration
from health.runbook.failures import FailingActs, after_failure, finding, lasts
from health.runbook.memory_parts import (
    Disruption,
    LeaseMemory,
    NotificationMemory,
    OrdersMemory,
    RecoveryMemory,
)
from health.runbook.task_notes import (
    LeftBehind,
    MaintenanceTask,
    TaskFailure,
    TaskNote,
    after_attempt,
    merged,
    patched,
    still_ahead,
)
from objects.frozen import Frozen
from objects.short_text import ShortText
from objects.timestamps import stamp

NO_SHADOW = ShadowRecord()
_DONE = {"has_acted": True, "found": None, "failing": None, "skips_back_off": False, "approval": None}
"""Changes after an act that completed its step."""


class NewStart(Frozen):
    """A person's order to delete all requests and take the steps again."""

    first_step: str = ""
    """A name of the template of the first step to take; "": the first step of the check."""


class Loss(Frozen):
    """The loss of a request or mark, by another actor, while the target was unhealthy."""

    at: datetime
    attempt: int
    """The number of that remediation in a row; each loss counts as one (rule 14)."""


class Memory(OrdersMemory):
    """The memory of one incident, kept across runs."""

    requests: tuple[RequestReference, ...] = ()
    """Requests that it made or adopted and that it has not seen disappear."""
    withdrawn: tuple[str, ...] = ()
    """The uids of requests that it deleted and that a finalizer kept: their end is not a loss."""
    has_acted: bool = False
    lease: LeaseMemory = LeaseMemory()
    disruption: Disruption = Disruption()
    recovery: RecoveryMemory = RecoveryMemory()
    is_marked: bool = False
    """Whether the target was last seen with a mark."""
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
    """Whether no step was left at the last observation that could tell."""
    patches: tuple[AnnotationPatch, ...] = ()
    """The annotations that it wrote, because the detector's state may be slightly older."""
    notes: tuple[TaskNote, ...] = ()
    """Maintenance tasks that failed, with their next try."""
    clean_up_at: datetime | None = None
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
    began: datetime | None = None
    """When its first run started; None: this is the first run."""
    order: RemediationOrder | None = None
    """The latest order to remediate its target, which looked healthy; None: a failure began the incident."""
    order_ended: ShortText = ""
    """Why that order is over, if the incident ended it; "": a boot may have fulfilled it."""
    evidence: EvidenceRecord | None = None
    """The result of saving evidence; None: not tried."""
    notifications: NotificationMemory = NotificationMemory()
    counted: CountedFact | None = None
    """The failure as the detector counted it last; None: the target is not known to be unhealthy."""
    delays: Delays = Delays()
    """The failure, and how long its remediation was held and queued."""
    is_shadow: bool = False
    """Whether it was in shadow at the last observation that could tell."""
    shadow: ShadowRecord = NO_SHADOW
    """What it would have done in shadow, and what others did."""

    @property
    def has_been_in_shadow(self) -> bool:
        """True if it is in shadow, or recorded something in an earlier shadow."""
        return self.is_shadow or self.shadow != NO_SHADOW

    @property
    def is_before_the_first_step(self) -> bool:
        """True before the first step of a remediation: no request exists and no step was tried."""
        return not self.requests and not self.spent

    @property
    def in_a_row(self) -> int:
        """How many remediations in a row, with this one, took these first steps alone; 0: it took others."""
        if not _goes_on(self.taken, self.steps):
            return 0
        return 1 + (self.earlier.in_a_row if self.earlier and self.earlier.taken == self.taken else 0)

    @property
    def repetition(self) -> str:
        """How often in a row the first steps alone were taken, with this one, in words; "": seldom."""
        if self.in_a_row >= SAID_FROM:
            return repeated(self.in_a_row, len(self.taken))
        earlier = self.earlier.taken if self.earlier and not self.relapsed else ()
        is_on_its_way = _goes_on(self.taken, earlier) and _goes_on(earlier, self.steps)
        return self.earlier.repetition if self.earlier and is_on_its_way else ""

    @property
    def relapse(self) -> str:
        """Which steps are not taken again after an earlier remediation, in words; "": none."""
        if self.earlier is None or not self.relapsed:
            return ""
        named, ended = ", ".join(one.name for one in self.relapsed), stamp(self.earlier.ended)
        return f"the remediation that ended at {ended} took {named}, and the next step follows"

    @property
    def tried(self) -> tuple[TemplateReference, ...]:
        """The templates that get no further request."""
        return (*self.relapsed, *self.spent)

    @property
    def may_have_replaced_it(self) -> bool:
        """True if the incident deleted its target, or the controller that its mark addressed may have."""
        is_marked = self.disruption.marked_at is not None or (self.has_acted and self.is_marked)
        return self.disruption.has_deleted or is_marked

    @property
    def owns_something(self) -> bool:
        """True if an object in the cluster must be cleaned up before the incident may end."""
        return bool(self.requests) or self.lease.may_be_held

    def words_of(self, request: RequestSnapshot) -> str:
        """The state of a request; a skipped one is annotated as timed out, although no time has passed."""
        is_skipped = request.uid in self.skipped and not request.is_being_deleted
        return f"{request.reference} was skipped" if is_skipped else str(request)

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
        ended = self.order.given if self.order is not None and self.order_ended else None
        return Progress(
            spent=self.tried,
            skipped=self.skipped,
            approval=self.approval,
            order_ended=ended,
            standing=self.standing,
            skips_back_off=self.skips_back_off,
            holds=self.holds,
        )

    def is_approved(self, step: Step) -> bool:
        """True if this step was approved for this failure."""
        approval = self.approval
        return approval is not None and approval.is_for(step) and approval.answer is ApprovalAnswer.APPROVED

    @property
    def is_rejected(self) -> bool:
        """True if the step that it asked about was rejected."""
        return self.approval is not None and self.approval.answer is ApprovalAnswer.REJECTED

    def having_asked(self, approval: Approval) -> Self:
        """The same once a person is to be asked; the next question reports it."""
        return self._with(approval=approval)

    def plan(self, check: Stepped) -> Plan:
        """The steps of a check or an observation, with those that this incident has tried."""
        return Plan(check.steps, self.tried, self.skipped)

    def attempt_of(self, observation: Observation) -> int:
        """The number, in a row, of the remediation that a request made now, or existing now, belongs to."""
        return max(self.attempt, self.attempts_before(observation) + 1)

    def attempts_before(self, observation: Observation) -> int:
        """Remediations in a row that have ended; the detector may already count a loss among them."""
        return max(observation.earlier_attempts, self.loss.attempt if self.loss else 0)

    def settled(self, requests: tuple[RequestReference, ...], observation: Observation) -> tuple[str, ...]:
        """The uids of those of `requests` whose disappearance is not a loss.

        Either the incident deleted them itself, or the target recovered and failed again since, so that the
        detector counts their remediation as an earlier one.
        """
        if 0 < self.attempt <= observation.earlier_attempts:
            return tuple(request.uid for request in requests)
        return tuple(request.uid for request in requests if request.uid in self.withdrawn)

    def at(self, now: datetime) -> Self:
        """The same at `now`, without expired orders and without a mark that should be visible by now."""
        return self._with(
            standing=tuple(order for order in self.standing if not order.is_over(now)),
            disruption=self.disruption.until(now),
        )

    def complete(self, observation: Observation) -> Observation:
        """The observation with annotations that were written and may not be visible yet."""
        if not self.patches or not observation.requests:
            return observation
        return observation.model_copy(update={"requests": patched(observation.requests, self.patches)})

    def having_ordered(self, step: Step) -> Self:
        """The same once an act is ordered; its unknown results are assumed to have happened."""
        return self._with(lease=self.lease.ordered(), disruption=self.disruption.ordered(step))

    def having_acted(
        self, step: Step, request: RequestSnapshot, acquired: datetime | None, now: datetime
    ) -> Self:
        """The same once the request of `step` exists.

        The Lease of a request that was found is due for renewal at once.
        """
        duration = lease_duration(step)
        lease = self.lease.taken(duration, acquired, now + duration / 2 if acquired else now)
        return self._with(
            taken=self.with_taken((step,)),
            requests=(
                *(earlier for earlier in self.requests if earlier.uid != request.uid),
                request.reference,
            ),
            lease=lease.for_request(),
            recovery=self.recovery.begun(request.boot_id, is_first=self.is_before_the_first_step),
            clean_up_at=None,
            **_DONE,
        )

    def with_taken(self, steps: Iterable[Step]) -> tuple[TemplateReference, ...]:
        """The templates of the steps taken, with these; a classic step has none after it."""
        templates = (step.template for step in steps if step.timeout_seconds is not None)
        return tuple(dict.fromkeys((*self.taken, *templates)))

    def having_disrupted(
        self, step: Step, observation: Observation, acquired: datetime | None, now: datetime
    ) -> Self:
        """The same once the target was deleted or marked by `step`."""
        duration = lease_duration(step)
        return self._with(
            disruption=Disruption(action=step.action, at=now),
            recovery=self.recovery.begun(observation.boot_id, is_first=self.is_before_the_first_step),
            attempt=self.attempt_of(observation),
            lease=self.lease.taken(duration, acquired, now + duration / 2),
            **_DONE,
        )

    def having_failed_to_act(
        self, hold: Hold, observation: Observation, now: datetime, spread: float, *, is_forbidden: bool
    ) -> Self:
        """The same once an act was held by `hold`, which only the act may see."""
        failing = after_failure(self.failing, hold, observation, now, spread)
        is_reported = not is_forbidden or lasts(failing, now)
        return self._with(failing=failing, found=finding(self.found, hold) if is_reported else self.found)

    def having_lost(
        self, gone: tuple[RequestReference, ...], observation: Observation, now: datetime
    ) -> Self:
        """The same once an act found that another actor deleted these requests."""
        uids = {request.uid for request in gone}
        return self._with(
            requests=tuple(request for request in self.requests if request.uid not in uids),
            approval=None,
            loss=Loss(at=now, attempt=self.attempt_of(observation)),
        )

    def having_annotated(self, patches: tuple[AnnotationPatch, ...]) -> Self:
        return self._with(patches=merged(self.patches, patches))

    def having_released_lease(self) -> Self:
        """The same once the Lease was released while the requests stay."""
        return self._with(lease=self.lease.released())

    def having_cleaned_up(self, left: LeftBehind, requests: Iterable[RequestSnapshot], now: datetime) -> Self:
        """The same after a clean-up that left `left` behind; its failures are noted separately.

        `requests` are those before it: a request that another actor was already deleting was not withdrawn
        by us. While a request exists its remediator may be working, so the Lease is kept.
        """
        before = tuple(requests)
        not_ours = {request.uid for request in before if request.is_being_deleted}.difference(self.withdrawn)
        is_recovered = self.recovery.healthy_since is not None and not self.starts_over
        is_over = is_recovered or not left.requests  # a request that hangs is no part of the next remediation
        # Once no request is left; without a recovery, no failure can come back.
        earlier = self.ended_remediation(self.recovery.ended_at)
        over = {"spent": (), "taken": (), "relapsed": (), "skipped": (), "patches": (), "is_exhausted": False}
        return self._with(
            requests=left.requests,
            withdrawn=tuple(request.uid for request in left.hanging if request.uid not in not_ours),
            lease=self.lease.after_clean_up(left),
            recovery=self.recovery.over() if is_over and not self.starts_over else self.recovery,
            clean_up_at=left.again_at(self.notes, now),
            cleaned_up=tuple(sorted(request.uid for request in before)),
            **({**over, "earlier": earlier} if is_over else {}),
        )

    def ended_remediation(self, at: datetime | None) -> EndedRemediation | None:
        """The latest remediation, if this one ended at that time; None: without a recovery."""
        if not self.taken:
            return self.earlier
        steps = tuple(dict.fromkeys((*self.tried, *self.taken)))
        return EndedRemediation(ended=at, taken=steps, in_a_row=self.in_a_row) if at else None

    def having_tried(
        self,
        task: MaintenanceTask,
        tried: Collection[TaskSubject],
        failures: Iterable[TaskFailure],
        now: datetime,
        spread: float,
    ) -> Self:
        """The same after an attempt at `task` for the subjects `tried`, with notes for failures."""
        return self._with(
            notes=after_attempt(self.notes, task=task, tried=tried, failures=failures, now=now, spread=spread)
        )

    def having_skipped(self, uid: str) -> Self:
        """The same once the request with that uid counts as timed out."""
        return self._with(skipped=(*self.skipped, uid))

    def having_saved_evidence(self, record: EvidenceRecord) -> Self:
        """The same after the one attempt to save evidence; a step does not wait for a second one."""
        return self._with(evidence=record)

    def is_only_renewed_since(self, before: Self) -> bool:
        """True if nothing but the time of the next renewal of the Lease differs from `before`."""
        return self == before._with(lease=before.lease.renewed_later(self.lease.renew_at))

    def resting(self, now: datetime) -> Self:
        """The same before the incident rests, without notes that became obsolete."""
        return self._with(notes=still_ahead(self.notes, now))

    @property
    def has_report_due(self) -> bool:
        """True if the detector must get an order, the question to people or a relapse, at once."""
        is_relapse_due = self.relapsed != self.reported
        return is_relapse_due or bool(self.unreported_orders) or self.progress.unreported is not None

    def having_reported(self, before: Self) -> Self:
        """The same once the detector answered a question that was asked with the memory `before`."""
        orders, approval = before.unreported_orders, self.approval
        reported = (
            order.model_copy(update={"is_reported": True}) if order in orders else order
            for order in self.orders
        )
        if approval is not None and approval == before.approval:
            approval = approval.model_copy(update={"is_reported": True})
        return self._with(orders=tuple(reported), approval=approval, reported=before.relapsed)


def _goes_on(some: Sequence[TemplateReference], steps: Sequence[TemplateReference]) -> bool:
    """True if these steps begin with `some`, and have others after them."""
    return len(some) < len(steps) and steps[: len(some)] == some
