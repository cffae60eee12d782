"""AdmittedStep: what the activity `act` is asked, and what an incident remembers of its result.

Rule: what nobody knows of an act is taken for the worse. From the moment of the call the incident may hold
the Lease, and may have deleted its target; only a result that says otherwise takes that back. Evidence that
is to be saved before it is asked for once, and what became of it is an answer whatever happens: nothing of it
can keep an incident from its step, and what broke off is not saved, as far as anybody knows.
"""

from dataclasses import dataclass
from datetime import datetime

from temporalio.exceptions import ActivityError, ApplicationError

from health.gate.act_finding import is_new
from health.model.admission import Admission
from health.model.evidence import EvidenceRecord, evidence_name
from health.model.moves import RecordStep, TakeStep
from health.model.observation import Hold, HoldReason, Observation, failed
from health.model.references import Action, IncidentReference, RequestReference, Step
from health.runbook.escalation import Plan
from health.runbook.memory import Memory
from health.runbook.new_step import due_after_a_loss
from workflows.contracts import (
    ACT,
    SAVE_EVIDENCE,
    ActHeld,
    ActInput,
    ActResult,
    EvidenceInput,
    EvidenceResult,
    RequestExists,
    RequestsLost,
    TargetDisrupted,
)
from workflows.kit.calls import FinishedCalls, in_words


@dataclass(frozen=True)
class AfterAct:
    """Where an incident stands after an act."""

    memory: Memory
    seen: Observation | None
    """What is acted on next; None when it must be asked for."""
    has_untold_finding: bool = False
    """Whether the act found what the detector, and so people, do not know yet."""


@dataclass(frozen=True)
class AdmittedStep:
    """A step that is taken at `began`, on what was `seen` and remembered `before`."""

    step: Step
    admission: Admission
    seen: Observation
    before: Memory
    began: datetime

    def asks(self, incident: IncidentReference, run_id: str) -> ActInput:
        """What the activity is asked."""
        if self.seen.fact is None:
            raise ApplicationError(f"an observation admitted {incident.target} without a fact")
        return ActInput(
            incident=incident,
            run_id=run_id,
            step=self.step,
            admission=self.admission,
            fact=self.seen.fact,
            seen_at=self.seen.seen_at,
            generation=self.seen.generation,
            known=self._known,
            settled=self.before.settled(self._known, self.seen),
            due_after_loss=self._due_after_loss,
            attempt=self.before.attempt_of(self.seen),
            holds_lease=self.before.lease.is_held,
            requests=tuple(request.reference for request in self.seen.requests),
        )

    @property
    def _due_after_loss(self) -> datetime | None:
        """By the rule that the incident itself will wait by, if that is what the act finds."""
        lost = self.before.having_lost(self._known, self.seen, self.began)
        return due_after_a_loss(self.seen, lost) if self._known else None

    @property
    def _known(self) -> tuple[RequestReference, ...]:
        """What was made in this step, or by an earlier list, and the detector does not see."""
        plan, visible = Plan(self.seen.steps), {request.uid for request in self.seen.requests}
        unseen = [one for one in self.before.requests if one.uid not in visible]
        return tuple(one for one in unseen if plan.step_of(one) in (self.step, None))

    def after(self, result: ActResult, memory: Memory, now: datetime, spread: float) -> AfterAct:
        """What follows from the result, for the `memory` that the incident has by now: orders may have come.

        `spread` is drawn between 0 and 1.
        """
        match result.outcome:
            case RequestExists(request=request, lease_acquired_at=acquired):
                seen = self._spent.model_copy(update={"requests": (*self.seen.requests, request)})
                return AfterAct(memory.having_acted(self.step, request, acquired, now), seen)
            case TargetDisrupted(lease_acquired_at=acquired):
                return AfterAct(memory.having_disrupted(self.step, self.seen, acquired, now), None)
            case RequestsLost():
                return AfterAct(memory.having_lost(self._known, self.seen, self.began), self._spent)
            case ActHeld(hold=hold, is_forbidden=is_forbidden):
                held = memory.having_failed_to_act(hold, self.seen, now, spread, is_forbidden=is_forbidden)
                return self._after_hold(hold, held, memory)

    def _after_hold(self, hold: Hold, held: Memory, memory: Memory) -> AfterAct:
        has_untold_finding = is_new(memory.found, held.found)
        if not self._may_have_deleted(hold):
            held = held.model_copy(update={"disruption": self.before.disruption})
        return AfterAct(held, self._seen_after(hold, held), has_untold_finding)

    def _seen_after(self, hold: Hold, memory: Memory) -> Observation | None:
        if memory.failing is None:
            return self.seen.held_by(hold)
        # What an act did that broke off nobody knows: its request may be there, so it asks first.
        return None if hold.reason in (HoldReason.FAILED, HoldReason.STALE_FACTS) else self._spent

    @property
    def _spent(self) -> Observation:
        """What was seen; an admission is good for one act, whatever comes of that."""
        return self.seen.without_admission()

    def _may_have_deleted(self, hold: Hold) -> bool:
        """Whether an act that broke off may have deleted the target all the same."""
        return self.step.action is Action.DELETE and hold.reason is HoldReason.FAILED


def evidence_before(
    due: TakeStep | RecordStep, seen: Observation, incident: IncidentReference, first_run_id: str
) -> EvidenceInput:
    """What the activity is asked that saves evidence before the step that is due."""
    if seen.fact is None or seen.evidence is None:
        raise ApplicationError(f"nothing says which evidence of {incident.target} is to be saved")
    return EvidenceInput(
        incident=incident,
        first_run_id=first_run_id,
        store=seen.evidence,
        step=seen.steps[due.step],
        reason=seen.reason,
        fact=seen.fact,
        generation=seen.generation,
        admission=due.admission if isinstance(due, TakeStep) else Admission(),
        is_shadow=isinstance(due, RecordStep),
    )


async def act(calls: FinishedCalls, asked: ActInput, details: str) -> ActResult:
    """What an act did; one that broke off is a hold."""
    summary = f"{asked.step.order_for(asked.incident.target)}: {details}"
    try:
        return await calls.call(ACT, asked, ActResult, summary=summary)
    except ActivityError as error:
        return ActResult.held(failed(in_words(error)))


async def save_evidence(
    calls: FinishedCalls, asked: EvidenceInput, details: str, now: datetime
) -> EvidenceRecord | Hold:
    """What became of it; or why the step before which it is to be saved may not be taken."""
    try:
        result = await calls.call(SAVE_EVIDENCE, asked, EvidenceResult, summary=f"save evidence: {details}")
    except ActivityError as error:
        return _not_saved(asked, now, in_words(error))
    return result.hold or result.record or _not_saved(asked, now, "its answer is not known here")


def _not_saved(asked: EvidenceInput, now: datetime, why: str) -> EvidenceRecord:
    name = evidence_name(asked.incident, asked.first_run_id)
    problem = f"nobody knows whether {asked.store} {name} was written: {why}"
    return EvidenceRecord(store=asked.store, name=name, at=now, problem=problem)
