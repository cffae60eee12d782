"""Decide: what an incident does next, as a pure function of its observation and its memory.

This is the runbook. It is called after every move and every observation, so it works from any state: after
a restart, an edit of the check, a recovery in the middle, an abort. The first row of `health.runbook.rows`
that matches decides; the functions below change its decision in their order.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from health.model.moves import (
    REQUESTS_ARE_GONE,
    Act,
    End,
    Moment,
    Move,
    NextEvent,
    NextTransition,
    Outcome,
    Phase,
    RecordStep,
    SaveEvidence,
    TakeStep,
)
from health.model.observation import Observation
from health.runbook.decision import Decision, Reason
from health.runbook.incident import Incident
from health.runbook.maintenance import annotate, grows_old, overdue, release_lease, renew_lease, renewal
from health.runbook.moments import deadline, safety_net
from health.runbook.rows import BY_RESUME, REMEDIATOR_IS_DONE, Row, matching
from health.runbook.state import Memory
from health.runbook.words import as_move

ORDER_IS_REMOVED = NextTransition(what="when a person removes the order from the target")


def next_move(observation: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident with this observation and this memory."""
    incident = Incident.of(observation, memory, now)
    row = matching(incident)
    decision = _of_row(row, incident)
    if row.is_maintained and incident.has_begun:
        decision = _maintained(decision, incident)
    if memory.is_shadow:
        decision = _in_shadow(decision, incident)
    return as_move(_with_evidence(_with_wakes(decision, incident), incident), incident)


def unmaintained(incident: Incident) -> Decision:
    """The decision about an incident with the end of its wait, without maintenance tasks that are due."""
    return _with_wakes(_of_row(matching(incident), incident), incident)


def _of_row(row: Row, incident: Incident) -> Decision:
    """The decision of the matching row, with the end of its wait."""
    decision = row.decision(incident)
    if row.is_maintained and incident.has_begun and decision.act is None:
        decision = _meanwhile(decision, incident)
    return _until_resume(decision, incident)


_MEANWHILE: tuple[Callable[[Incident], Moment | None], ...] = (
    renewal,
    grows_old,
    overdue,
    deadline,
    safety_net,
)
"""The moments that also end a wait while a remediation is maintained."""
_MAINTENANCE: tuple[tuple[Callable[[Incident], Act | None], Reason], ...] = (
    (annotate, Reason.MAINTAINED),
    (release_lease, Reason.OVERDUE),
    (renew_lease, Reason.MAINTAINED),
)
"""The maintenance tasks of a remediation, in their order; a due task precedes the decision of the row."""


def _maintained(decision: Decision, incident: Incident) -> Decision:
    """The maintenance task that is due, else the decision unchanged."""
    for due, reason in _MAINTENANCE:
        if (act := due(incident)) is not None:
            return replace(decision, phase=_phase_of_task(incident), reason=reason, act=act)
    return decision


def _meanwhile(decision: Decision, incident: Incident) -> Decision:
    """The same with the moments of maintenance, which move only a running remediation on."""
    moments = [moment(incident) for moment in _MEANWHILE]
    if decision.phase is not Phase.REMEDIATING:
        moments = [moment and replace(moment, event=None) for moment in moments]
    return decision.or_until(moments)


def _phase_of_task(incident: Incident) -> Phase:
    if not incident.is_state_known or incident.course.running is not None:
        return Phase.REMEDIATING
    return Phase.EXHAUSTED if incident.course.next_step is None else Phase.HELD


def _until_resume(decision: Decision, incident: Incident) -> Decision:
    """The same; under a person's hold without an end, no moment moves a running remediation on."""
    held, runs = incident.memory.held, decision.phase is Phase.REMEDIATING
    if incident.has_ended or not runs or held is None or held.until is not None:
        return decision
    until = tuple(replace(moment, event=None) for moment in decision.until)
    return replace(decision, until=until, otherwise=BY_RESUME)


def _in_shadow(decision: Decision, incident: Incident) -> Decision:
    """The same, but a step is recorded; the incident waits until requests of others are gone."""
    match decision.act:
        case TakeStep() if incident.is_step_recorded:
            return _rest(incident, Phase.REMEDIATING, Reason.STEP_RECORDED, REMEDIATOR_IS_DONE)
        case TakeStep(step=number):
            return replace(decision, act=RecordStep(number))
        case End() if incident.others:
            return _rest(incident, Phase.CLEANING_UP, Reason.REQUESTS_OF_OTHERS, REQUESTS_ARE_GONE)
        case End() if incident.observation.order is not None:
            return _rest(incident, Phase.CLEANING_UP, Reason.ORDER_REMAINS, ORDER_IS_REMOVED)
        case End() if incident.memory.shadow.steps and not incident.memory.has_acted:
            return replace(decision, act=End(Outcome.WOULD_HAVE_REMEDIATED))
    return decision


def _rest(incident: Incident, phase: Phase, reason: Reason, otherwise: NextTransition) -> Decision:
    return Decision(phase=phase, reason=reason, until=(safety_net(incident),), otherwise=otherwise)


def _with_wakes(decision: Decision, incident: Incident) -> Decision:
    """The same, but no wait is longer than an order that alone makes the target unhealthy, or a next try."""
    if decision.act is not None:
        return decision
    expires_at = incident.order_expires_at
    order_expires = Moment(expires_at, NextEvent.ORDER_EXPIRES) if expires_at else None
    return decision.or_until([order_expires, *(Moment(note.next_try) for note in incident.put_off.values())])


def _with_evidence(decision: Decision, incident: Incident) -> Decision:
    """The same, but evidence is saved before the first step, if the check wants it and none was tried."""
    is_wanted = incident.observation.evidence is not None and incident.memory.evidence is None
    if not is_wanted or not isinstance(decision.act, TakeStep | RecordStep):
        return decision
    return replace(decision, act=SaveEvidence(decision.act))
