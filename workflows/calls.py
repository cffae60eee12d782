"""The calls of an incident that change the cluster: their input, and what it remembers of their result.

- `AdmittedStep`: the input of the activity `act`, and the state after it. Unknown effects of an act are
  assumed to have happened. From the moment of the call the incident may hold the Lease and may have deleted
  its target; only a result that says otherwise reverts that.
- Evidence before a step is requested once, and any outcome is an answer: it never keeps an incident from its
  step, and an attempt that broke off counts as not saved.
- `TaskCall`: a maintenance task. Each failure becomes a note with a next try. A call that broke off has an
  unknown result, so all its parts are tried again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from temporalio.exceptions import ActivityError, ApplicationError

from health.model.admission import Admission
from health.model.evidence import EvidenceRecord, evidence_name
from health.model.moves import AnnotationPatch, RecordStep, TakeStep
from health.model.observation import Hold, HoldReason, Observation, TargetState, failed
from health.model.references import Action, IncidentReference, RequestReference, Step
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_CONFIRMATION, OF_LEASE, OF_ORDER, TaskSubject
from health.runbook.escalation import Plan
from health.runbook.failures import (
    LeftBehind,
    MaintenanceTask,
    TaskFailure,
    deleting,
    is_new,
    next_try_of,
    releasing_lease,
    removing_confirmation,
    removing_order,
    renewing_lease,
)
from health.runbook.incident import due_after_loss
from health.runbook.state import Memory
from objects.short_text import Brief
from workflows.contracts import (
    ACT,
    ANNOTATE,
    CLEAN_UP,
    RENEW,
    SAVE_EVIDENCE,
    ActHeld,
    ActInput,
    ActResult,
    AnnotateInput,
    AnnotateResult,
    CleanUpInput,
    CleanUpResult,
    EvidenceInput,
    EvidenceResult,
    RenewInput,
    RenewResult,
    RequestExists,
    RequestsLost,
    TargetDisrupted,
)
from workflows.kit import Contract, FinishedCalls, in_words
from workflows.status import annotation_summary, clean_up_summary, evidence_summary, step_summary


@dataclass(frozen=True)
class AfterAct:
    """The state of an incident after an act."""

    memory: Memory
    observation: Observation | None
    """The observation for the next act; None: ask the detector first."""
    has_unreported_finding: bool = False
    """True if the act found a hold that the detector has not received yet."""


@dataclass(frozen=True, kw_only=True)
class AdmittedStep:
    """A step taken at `began`, on the observation `seen` and the memory `before`."""

    step: Step
    admission: Admission
    observation: Observation
    before: Memory
    began: datetime

    def asks(self, incident: IncidentReference, run_id: str) -> ActInput:
        """The input of the act, from the moment at which it began."""
        if self.observation.fact is None:
            raise ApplicationError(f"an observation admitted {incident.target} without a fact")
        before, known = self.before, self._known
        # When the next request is due, if the act finds the known ones lost.
        lost = before.after_loss(known, self.observation, self.began)
        # An Event says that the first steps alone are taken again and again, once.
        after = replace(before, taken=before.with_taken((self.step,)))
        return ActInput(
            incident=incident,
            run_id=run_id,
            step=self.step,
            admission=self.admission,
            fact=self.observation.fact,
            seen_at=self.observation.seen_at,
            generation=self.observation.generation,
            known=known,
            settled=before.settled(known, self.observation),
            due_after_loss=due_after_loss(self.observation, lost) if known else None,
            attempt=before.attempt_of(self.observation),
            holds_lease=before.lease.is_held,
            is_approved=before.is_approved(self.step),
            approved_version=(before.approval.version or None) if before.approval else None,
            requests=tuple(request.reference for request in self.observation.requests),
            delay=before.delays.before_act(self.began) if before.is_before_the_first_step else None,
            repetition=None if before.repetition else after.repetition,
        )

    @property
    def _known(self) -> tuple[RequestReference, ...]:
        """Requests of this step, or of templates no longer listed, that the detector does not see."""
        plan, visible = Plan(self.observation.steps), {request.uid for request in self.observation.requests}
        unseen = [request for request in self.before.requests if request.uid not in visible]
        return tuple(request for request in unseen if plan.step_of(request) in (self.step, None))

    def after(self, result: ActResult, memory: Memory, now: datetime, spread: float) -> AfterAct:
        """The state after the result, from the current `memory`, which may have new orders.

        `spread` is a random number between 0 and 1.
        """
        match result.outcome:
            case RequestExists(request=request, lease_acquired_at=acquired):
                observation = self._spent.model_copy(
                    update={"requests": (*self.observation.requests, request)}
                )
                return AfterAct(memory.after_request(self.step, request, acquired, now), observation)
            case TargetDisrupted(lease_acquired_at=acquired):
                return AfterAct(memory.after_disruption(self.step, self.observation, acquired, now), None)
            case RequestsLost():
                return AfterAct(memory.after_loss(self._known, self.observation, self.began), self._spent)
            case ActHeld(hold=hold, is_forbidden=is_forbidden):
                held = memory.after_failed_act(hold, self.observation, now, spread, is_forbidden=is_forbidden)
                return self._after_hold(hold, held, memory)

    def _after_hold(self, hold: Hold, held: Memory, memory: Memory) -> AfterAct:
        has_unreported_finding = is_new(memory.found, held.found)
        may_have_deleted = self.step.action is Action.DELETE and hold.reason is HoldReason.FAILED
        if not may_have_deleted:
            held = replace(held, disruption=self.before.disruption)
        if held.failing is None:
            return AfterAct(held, self.observation.held_by(hold), has_unreported_finding)
        # The effects of an act that broke off are unknown: its request may exist, so the incident asks first.
        asks_first = hold.reason in (HoldReason.FAILED, HoldReason.STALE_FACTS)
        return AfterAct(held, None if asks_first else self._spent, has_unreported_finding)

    @property
    def _spent(self) -> Observation:
        """The observation without its admission, which is valid for one act with any result."""
        return self.observation.without_admission()


def evidence_before(
    due: TakeStep | RecordStep,
    observation: Observation,
    memory: Memory,
    incident: IncidentReference,
    first_run_id: str,
) -> EvidenceInput:
    """The input of the activity that saves evidence before the step that is due."""
    if observation.fact is None or observation.evidence is None:
        raise ApplicationError(f"nothing says which evidence of {incident.target} is to be saved")
    step = observation.steps[due.step]
    return EvidenceInput(
        incident=incident,
        first_run_id=first_run_id,
        step=step,
        reason=observation.reason,
        fact=observation.fact,
        generation=observation.generation,
        admission=due.admission if isinstance(due, TakeStep) else Admission(),
        is_approved=memory.is_approved(step),
        is_shadow=isinstance(due, RecordStep),
    )


async def act(calls: FinishedCalls, request: ActInput) -> ActResult:
    """The result of an act; an act that broke off is a hold."""
    summary = step_summary(request.step, request.incident.target)
    try:
        return await calls.call(ACT, request, ActResult, summary=summary)
    except ActivityError as error:
        return ActResult.held(failed(in_words(error)))


async def save_evidence(calls: FinishedCalls, request: EvidenceInput, now: datetime) -> EvidenceRecord | Hold:
    """The result of saving evidence, or the hold of the step after it."""
    try:
        summary = evidence_summary(request)
        result = await calls.call(SAVE_EVIDENCE, request, EvidenceResult, summary=summary)
    except ActivityError as error:
        why = in_words(error)
    else:
        if found := result.hold or result.record:
            return found
        why = "its answer is not known here"
    name = evidence_name(request.incident, request.first_run_id)
    problem = f"it is unknown whether the ConfigMap {name} was written: {why}"
    return EvidenceRecord(name=name, at=now, problem=problem)


TaskResult = TypeVar("TaskResult", AnnotateResult, RenewResult, CleanUpResult)


@dataclass(frozen=True, kw_only=True)
class TaskCall(Generic[TaskResult]):
    """One maintenance task with its activity, input and result."""

    contract: Contract
    asked: AnnotateInput | RenewInput | CleanUpInput
    tried: Mapping[TaskSubject, str]
    """The parts of the maintenance task in words, by subject."""
    summary: Brief
    unknown: TaskResult
    """The assumed result, except for failures, if the call breaks off."""
    remember: Callable[[Memory, TaskResult, datetime], Memory]
    """Adds the successful parts to the memory."""

    async def done(self, calls: FinishedCalls) -> TaskResult:
        """Call the activity; a call that breaks off returns `unknown` with a failure for each part."""
        try:
            return await calls.call(self.contract, self.asked, type(self.unknown), summary=self.summary)
        except ActivityError as error:
            why = in_words(error)
            failures = [
                TaskFailure(subject=subject, what=action, why=why) for subject, action in self.tried.items()
            ]
            return self.unknown.model_copy(update={"failures": tuple(failures)})

    def after(self, result: TaskResult, memory: Memory, now: datetime, spread: float) -> Memory:
        """The memory after the call; `spread` is a random number between 0 and 1."""
        tried = memory.after_attempt(
            MaintenanceTask(self.contract.name), self.tried.keys(), result.failures, now, spread
        )
        return self.remember(tried, result, now)


def annotation(incident: IncidentReference, patches: tuple[AnnotationPatch, ...]) -> TaskCall[AnnotateResult]:
    """The maintenance task that writes annotations on requests."""

    def annotated(memory: Memory, result: AnnotateResult, _: datetime) -> Memory:
        failed_for = {failure.subject for failure in result.failures}
        return memory.after_annotation(tuple(patch for patch in patches if patch.subject not in failed_for))

    return TaskCall(
        contract=ANNOTATE,
        asked=AnnotateInput(incident=incident, patches=patches),
        tried={patch.subject: str(patch) for patch in patches},
        summary=annotation_summary(patches),
        unknown=AnnotateResult(),
        remember=annotated,
    )


def renewal(incident: IncidentReference, memory: Memory) -> TaskCall[RenewResult]:
    """The maintenance task that renews the Lease of the target, and the control-plane lock with it."""

    def renewed(memory: Memory, result: RenewResult, now: datetime) -> Memory:
        if result.failures:
            lease = replace(memory.lease, renew_at=next_try_of(memory.notes, MaintenanceTask.RENEW, OF_LEASE))
        else:
            lease = memory.lease.renewed(result.acquired_at, now)
        return replace(memory, lease=lease)

    return TaskCall(
        contract=RENEW,
        asked=RenewInput(incident=incident, duration_seconds=memory.lease.duration_seconds),
        tried={OF_LEASE: renewing_lease(incident.target)},
        summary=Brief("renew the Lease"),
        unknown=RenewResult(),
        remember=renewed,
    )


def release(incident: IncidentReference) -> TaskCall[CleanUpResult]:
    """The maintenance task that releases the Lease and keeps the requests."""

    def released(memory: Memory, result: CleanUpResult, _: datetime) -> Memory:
        return memory if result.has_lease and memory.lease.may_be_held else memory.after_release()

    return _cleaning(CleanUpInput(incident=incident, requests=()), released)


def clean_up(
    incident: IncidentReference, memory: Memory, observation: Observation, before: tuple[RequestSnapshot, ...]
) -> TaskCall[CleanUpResult]:
    """The maintenance task that deletes all requests, last seen as in `before`, and releases the Lease."""
    visible = {request.uid for request in observation.requests}
    request = CleanUpInput(
        incident=incident,
        requests=memory.requests,
        doubtful=tuple(request.uid for request in memory.requests if request.uid not in visible),
        is_confirmed=observation.is_confirmed,
        is_gone=observation.state is TargetState.GONE,
        order=None if memory.is_shadow else observation.order,
    )

    def cleaned_up(memory: Memory, result: CleanUpResult, now: datetime) -> Memory:
        failed_for = {failure.subject for failure in result.failures}
        failed = (one for one in request.requests if TaskSubject.of_request(one.uid) in failed_for)
        left = LeftBehind(
            hanging=result.remaining,
            failed=tuple(failed),
            has_lease=result.has_lease and memory.lease.may_be_held,
        )
        return memory.after_clean_up(left, before, now)

    return _cleaning(request, cleaned_up)


def _cleaning(
    request: CleanUpInput, remember: Callable[[Memory, CleanUpResult, datetime], Memory]
) -> TaskCall[CleanUpResult]:
    tried = {TaskSubject.of_request(reference.uid): deleting(reference) for reference in request.requests}
    tried[OF_LEASE] = releasing_lease(request.incident.target)
    if request.is_confirmed:
        tried[OF_CONFIRMATION] = removing_confirmation(request.incident.target)
    if request.order is not None:
        tried[OF_ORDER] = removing_order(request.incident.target)
    return TaskCall(
        contract=CLEAN_UP,
        asked=request,
        tried=tried,
        summary=clean_up_summary(request),
        unknown=CleanUpResult(has_lease=True),
        remember=remember,
    )
