"""ChoreCall: what the activities beside the steps are asked, and what an incident remembers of their results.

Rule: of a call that broke off nothing is known, so all that it tried is tried again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from temporalio.exceptions import ActivityError

from health.model.moves import AnnotationPatch
from health.model.observation import Observation
from health.model.references import IncidentReference, RequestReference
from health.runbook.chores import OF_CONFIRMATION, OF_LEASE, Chore, ChoreFailure, LeftBehind, next_try_of
from health.runbook.memory import Memory
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
from workflows.kit.calls import Contract, FinishedCalls, in_words

Result = TypeVar("Result", AnnotateResult, RenewResult, CleanUpResult)


@dataclass(frozen=True)
class ChoreCall(Generic[Result]):
    """One chore to be done."""

    chore: Chore
    contract: Contract
    asked: AnnotateInput | RenewInput | CleanUpInput
    tried: Mapping[str, str]
    """What it is to do, in words, by subject."""
    unknown: Result
    """What is taken for the result where nobody knows it, but for the failures."""

    async def done(self, calls: FinishedCalls, details: str) -> Result:
        """Have it done."""
        try:
            return await calls.call(self.contract, self.asked, type(self.unknown), summary=details)
        except ActivityError as error:
            why = in_words(error)
            failures = [ChoreFailure(subject=one, what=what, why=why) for one, what in self.tried.items()]
            return self.unknown.model_copy(update={"failures": tuple(failures)})


def annotation(
    incident: IncidentReference, patches: tuple[AnnotationPatch, ...]
) -> ChoreCall[AnnotateResult]:
    """Write annotations on requests."""
    tried = {patch.subject: str(patch) for patch in patches}
    asked = AnnotateInput(incident=incident, patches=patches)
    return ChoreCall(Chore.ANNOTATE, ANNOTATE, asked, tried, AnnotateResult())


def annotated(memory: Memory, patches: tuple[AnnotationPatch, ...], result: AnnotateResult) -> Memory:
    """The memory with those that were written."""
    failed_for = {failure.subject for failure in result.failures}
    return memory.having_annotated(tuple(one for one in patches if one.subject not in failed_for))


def renewal(incident: IncidentReference, memory: Memory) -> ChoreCall[RenewResult]:
    """Keep the Lease of the target, and what goes with it."""
    lease = memory.lease
    asked = RenewInput(
        incident=incident,
        duration_seconds=lease.duration_seconds,
        is_of_control_plane=lease.is_of_control_plane,
    )
    tried = {OF_LEASE: f"renew the Lease of {incident.target}"}
    return ChoreCall(Chore.RENEW, RENEW, asked, tried, RenewResult())


def renewed(memory: Memory, result: RenewResult, now: datetime) -> Memory:
    """The memory with when the Lease is renewed next."""
    if result.failures:
        lease = memory.lease.renewed_later(next_try_of(memory.notes, Chore.RENEW, OF_LEASE))
    else:
        lease = memory.lease.renewed(result.acquired_at, now)
    return memory.model_copy(update={"lease": lease})


def clean_up(incident: IncidentReference, memory: Memory, seen: Observation) -> ChoreCall[CleanUpResult]:
    """Delete all requests, and release the Lease."""
    visible = {request.uid for request in seen.requests}
    asked = CleanUpInput(
        incident=incident,
        requests=memory.requests,
        doubtful=tuple(one.uid for one in memory.requests if one.uid not in visible),
        is_of_control_plane=memory.may_hold_control_plane_lock,
        is_confirmed=seen.is_confirmed,
    )
    return _clean_up(asked)


def release(incident: IncidentReference, memory: Memory) -> ChoreCall[CleanUpResult]:
    """Release the Lease, and keep the requests."""
    return _clean_up(
        CleanUpInput(incident=incident, requests=(), is_of_control_plane=memory.may_hold_control_plane_lock)
    )


def released(memory: Memory, result: CleanUpResult) -> Memory:
    """The memory without the Lease, where it was released."""
    is_kept = left_behind(memory, (), result).has_lease
    return memory if is_kept else memory.having_released_lease()


def _clean_up(asked: CleanUpInput) -> ChoreCall[CleanUpResult]:
    tried = {one.uid: f"delete {one}" for one in asked.requests}
    tried[OF_LEASE] = f"give back the Lease of {asked.incident.target}"
    if asked.is_confirmed:
        tried[OF_CONFIRMATION] = f"take the mark off {asked.incident.target}"
    return ChoreCall(Chore.CLEAN_UP, CLEAN_UP, asked, tried, CleanUpResult(has_lease=True))


def left_behind(memory: Memory, asked_for: tuple[RequestReference, ...], result: CleanUpResult) -> LeftBehind:
    """What remains of what the incident made."""
    failed_for = {failure.subject for failure in result.failures}
    return LeftBehind(
        hanging=result.remaining,
        failed=tuple(one for one in asked_for if one.uid in failed_for),
        has_lease=result.has_lease and memory.lease.may_be_held,
    )
