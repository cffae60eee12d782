"""Decide: what an incident does next, as a pure function of its observation and its memory.

This is the runbook. It is called after every move and every observation, so it works from any state: after
a restart, an edit of the check, a recovery in the middle, an abort. The first row of `health.runbook.rows`
that matches decides; the stages of `next_move` change its decision in their order.

A preview is the decision about a target as people read it now, without carrying it out: the detector's answer
and the incident's memory go through the functions of the leading detector and of the workflow, so an order of
a person holds here as it holds there. A maintenance task that is due is left out: it changes no decision.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from health.check.ordered import is_by_order
from health.gate.admission import answered
from health.model.admission import Admission
from health.model.approval import Progress
from health.model.moves import (
    REQUESTS_ARE_GONE,
    Act,
    Deadline,
    End,
    Move,
    NextEvent,
    NextTransition,
    Outcome,
    Phase,
    RecordStep,
    SaveEvidence,
    TakeStep,
)
from health.model.observation import Hold, Observation
from health.model.order import OrderRecord
from health.model.references import Action
from health.runbook import deadlines
from health.runbook.incident import Incident, is_order_in_force
from health.runbook.learn import learned
from health.runbook.rows import BY_RESUME, MAINTAINED, REMEDIATOR_IS_DONE, Decision, Reason, Row, matching
from health.runbook.state import Memory
from health.runbook.words import as_move

ORDER_IS_REMOVED = NextTransition(what="when a person removes the order from the target")
_MEANWHILE: tuple[Callable[[Incident], Deadline | None], ...] = (
    deadlines.renewal,
    deadlines.grows_old,
    deadlines.lease_is_released,
    deadlines.timer_ends,
    deadlines.safety_net,
)
"""The deadlines that also end a wait while a remediation is maintained."""
_MAINTENANCE: tuple[tuple[Callable[[Incident], Act | None], Reason], ...] = (
    (deadlines.annotate, Reason.MAINTAINED),
    (deadlines.release_lease, Reason.OVERDUE),
    (deadlines.renew_lease, Reason.MAINTAINED),
)
"""The maintenance tasks of a remediation, in their order; a due task precedes the decision of the row."""


def next_move(observation: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident with this observation and this memory."""
    incident = Incident.of(observation, memory, now)
    row = matching(incident)
    decision = _of_row(row, incident)
    if row in MAINTAINED and incident.has_begun:
        decision = _maintained(decision, incident)
    if memory.is_shadow:
        decision = _in_shadow(decision, incident)
    decision = _with_wakes(decision, incident)
    # Evidence is saved before the first step, if the check wants it and no attempt was made.
    is_wanted = incident.observation.evidence is not None and memory.evidence is None
    if is_wanted and isinstance(decision.act, TakeStep | RecordStep):
        decision = replace(decision, act=SaveEvidence(decision.act))
    return as_move(decision, incident)


def _of_row(row: Row, incident: Incident) -> Decision:
    """The decision of the matching row, with the end of its wait."""
    decision = row.decision(incident)
    is_running = decision.phase is Phase.REMEDIATING
    if row in MAINTAINED and incident.has_begun and decision.act is None:
        meanwhile = [deadline(incident) for deadline in _MEANWHILE]
        if not is_running:  # maintenance moves only a running remediation on
            meanwhile = [deadline and replace(deadline, event=None) for deadline in meanwhile]
        decision = decision.or_until(meanwhile)
    held = incident.memory.held
    if incident.has_ended or not is_running or held is None or held.until is not None:
        return decision
    # Under a person's hold without an end, no deadline moves a running remediation on.
    until = tuple(replace(deadline, event=None) for deadline in decision.until)
    return replace(decision, until=until, otherwise=BY_RESUME)


def _maintained(decision: Decision, incident: Incident) -> Decision:
    """The maintenance task that is due, else the decision unchanged."""
    for due, reason in _MAINTENANCE:
        if (act := due(incident)) is not None:
            is_exhausted = incident.progress.next_step is None
            phase = Phase.EXHAUSTED if is_exhausted else Phase.HELD
            if not incident.is_state_known or incident.progress.running is not None:
                phase = Phase.REMEDIATING
            return replace(decision, phase=phase, reason=reason, act=act)
    return decision


def _in_shadow(decision: Decision, incident: Incident) -> Decision:
    """The same, but a step is recorded; the incident waits until requests of others are gone."""
    recorded = incident.memory.shadow
    match decision.act:
        case TakeStep(step=number):
            step = incident.observation.steps[number]
            # After a deletion or a mark the incident only waits.
            is_recorded = any(
                earlier.action is not Action.REQUEST
                or (earlier.action, earlier.template) == (step.action, step.template)
                for earlier in recorded.current
            )
            if is_recorded:
                return _rest(incident, Phase.REMEDIATING, Reason.STEP_RECORDED, REMEDIATOR_IS_DONE)
            return replace(decision, act=RecordStep(number))
        case End() if incident.others:
            return _rest(incident, Phase.CLEANING_UP, Reason.REQUESTS_OF_OTHERS, REQUESTS_ARE_GONE)
        case End() if incident.observation.order is not None:
            return _rest(incident, Phase.CLEANING_UP, Reason.ORDER_REMAINS, ORDER_IS_REMOVED)
        case End() if recorded.steps and not incident.memory.has_acted:
            return replace(decision, act=End(Outcome.WOULD_HAVE_REMEDIATED))
    return decision


def _rest(incident: Incident, phase: Phase, reason: Reason, otherwise: NextTransition) -> Decision:
    until = (deadlines.safety_net(incident),)
    return Decision(phase=phase, reason=reason, until=until, otherwise=otherwise)


def _with_wakes(decision: Decision, incident: Incident) -> Decision:
    """The same, but no wait is longer than an order that alone makes the target unhealthy, or a next try."""
    if decision.act is not None:
        return decision
    observation = incident.observation
    is_by_order_alone = is_by_order(observation.fact) and not incident.has_ended
    is_in_force = is_by_order_alone and is_order_in_force(observation, incident.memory)
    expires = None
    if observation.order is not None and is_in_force:
        expires = Deadline(observation.order.until, NextEvent.ORDER_EXPIRES)
    return decision.or_until([expires, *(Deadline(note.next_try) for note in incident.put_off.values())])


@dataclass(frozen=True)
class DecisionPreview:
    """The row of the runbook that decides about an incident, with its values."""

    incident: Incident
    decision: Decision

    @property
    def phase(self) -> Phase:
        return self.decision.phase

    @property
    def memory(self) -> Memory:
        """The memory once the incident has learned the observation."""
        return self.incident.memory

    @property
    def order(self) -> OrderRecord | None:
        """The order of a person that decides; None: something else does."""
        match self.decision.reason:
            case Reason.LEFT_ALONE:
                return self.memory.left_alone
            case Reason.HELD_BY_PERSON:
                return self.memory.held
        return None

    @property
    def hold(self) -> Hold | None:
        """The hold that decides; None: nothing holds it, or `order` does, or it waits as `words` say."""
        match self.decision.reason:
            case Reason.HELD_BY_DETECTOR | Reason.APPROVAL_MISSING | Reason.STEP_REJECTED:
                return self.incident.observation.hold
            case Reason.ACTS_FAIL:
                return self.memory.failing.hold if self.memory.failing else None
        return None

    @property
    def words(self) -> str:
        """The difference from other incidents, in the words of the workflow; "": there is none."""
        return as_move(self.decision, self.incident).details.differing

    @property
    def next_transition(self) -> NextTransition:
        """The end of the wait that follows the act, if one is due."""
        return as_move(replace(self.decision, act=None), self.incident).next_transition

    @property
    def is_recorded_only(self) -> bool:
        """True in shadow if a step would be taken, or counts as taken."""
        return self.memory.is_shadow and self.phase in (Phase.ACTING, Phase.REMEDIATING, Phase.EXHAUSTED)


def as_reported(progress: Progress) -> Memory:
    """The memory of an incident as far as its latest question tells it."""
    return Memory(
        spent=progress.spent,
        skipped=progress.skipped,
        approval=progress.approval,
        standing=progress.standing,
        skips_back_off=progress.skips_back_off,
        holds=progress.holds,
    )


def preview(observation: Observation, memory: Memory, now: datetime) -> DecisionPreview:
    """The preview of an incident with this memory, if it asked now and the detector saw `observation`."""
    memory = memory.at(now)
    answer = memory.complete(answered(observation, memory.intent(now), Admission))
    incident = Incident.of(answer, learned(memory, answer, now), now)
    return DecisionPreview(incident, _with_wakes(_of_row(matching(incident), incident), incident))
