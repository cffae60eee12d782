"""TaskCall: the input of an activity for a maintenance task, and what an incident remembers of its result.

Rule: each failure becomes a note with a next try. A call that broke off has an unknown result, so all its
parts are tried again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from temporalio.exceptions import ActivityError

from health.model.moves import AnnotationPatch
from health.model.observation import Observation, TargetState
from health.model.references import IncidentReference
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_CONFIRMATION, OF_LEASE, OF_ORDER, TaskSubject
from health.runbook.state import Memory
from health.runbook.task_notes import (
    LeftBehind,
    MaintenanceTask,
    TaskFailure,
    deleting,
    next_try_of,
    releasing_lease,
    removing_confirmation,
    removing_order,
    renewing_lease,
)
from objects.brief import Brief
from workflows import summaries
from workflows.contracts import (
    ANNOTATE,
    CLEAN_UP,
    RENEW,
    AnnotateInput,
    AnnotateResult,
    CleanUpInput,
    CleanUpResult,
    RenewInput,
    RenewResult,
)
from workflows.kit import Contract, FinishedCalls, in_words

Result = TypeVar("Result", AnnotateResult, RenewResult, CleanUpResult)


@dataclass(frozen=True, kw_only=True)
class TaskCall(Generic[Result]):
    """One maintenance task with its activity, input and result."""

    task: MaintenanceTask
    contract: Contract
    asked: AnnotateInput | RenewInput | CleanUpInput
    tried: Mapping[TaskSubject, str]
    """The parts of the maintenance task in words, by subject."""
    summary: Brief
    unknown: Result
    """The assumed result, except for failures, if the call breaks off."""
    remember: Callable[[Memory, Result, datetime], Memory]
    """Adds the successful parts to the memory."""

    async def done(self, calls: FinishedCalls) -> Result:
        """Call the activity; a call that breaks off returns `unknown` with a failure for each part."""
        try:
            return await calls.call(self.contract, self.asked, type(self.unknown), summary=self.summary)
        except ActivityError as error:
            why = in_words(error)
            failures = [
                TaskFailure(subject=subject, what=action, why=why) for subject, action in self.tried.items()
            ]
            return self.unknown.model_copy(update={"failures": tuple(failures)})

    def after(self, result: Result, memory: Memory, now: datetime, spread: float) -> Memory:
        """The memory after the call; `spread` is a random number between 0 and 1."""
        tried = memory.having_tried(self.task, self.tried.keys(), result.failures, now, spread)
        return self.remember(tried, result, now)


def annotation(incident: IncidentReference, patches: tuple[AnnotationPatch, ...]) -> TaskCall[AnnotateResult]:
    """The maintenance task that writes annotations on requests."""

    def annotated(memory: Memory, result: AnnotateResult, _: datetime) -> Memory:
        failed_for = {failure.subject for failure in result.failures}
        return memory.having_annotated(tuple(patch for patch in patches if patch.subject not in failed_for))

    return TaskCall(
        task=MaintenanceTask.ANNOTATE,
        contract=ANNOTATE,
        asked=AnnotateInput(incident=incident, patches=patches),
        tried={patch.subject: str(patch) for patch in patches},
        summary=summaries.annotation(patches),
        unknown=AnnotateResult(),
        remember=annotated,
    )


def renewal(incident: IncidentReference, memory: Memory) -> TaskCall[RenewResult]:
    """The maintenance task that renews the Lease of the target, and the control-plane lock with it."""

    def renewed(memory: Memory, result: RenewResult, now: datetime) -> Memory:
        if result.failures:
            lease = memory.lease.renewed_later(next_try_of(memory.notes, MaintenanceTask.RENEW, OF_LEASE))
        else:
            lease = memory.lease.renewed(result.acquired_at, now)
        return memory.model_copy(update={"lease": lease})

    return TaskCall(
        task=MaintenanceTask.RENEW,
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
        return memory if result.has_lease and memory.lease.may_be_held else memory.having_released_lease()

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
        return memory.having_cleaned_up(left, before, now)

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
        task=MaintenanceTask.CLEAN_UP,
        contract=CLEAN_UP,
        asked=request,
        tried=tried,
        summary=summaries.clean_up(request),
        unknown=CleanUpResult(has_lease=True),
        remember=remember,
    )
