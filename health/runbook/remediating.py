"""Remediating: what an incident does while its target is unhealthy, and whether its next step is due. Pure.

Maintenance comes first, during any hold (rule 7): ask the remediator of a request that is over to stop,
release the Lease when the remediation is overdue, otherwise renew it. While only a timer runs nothing
escalates: no remediator is asked to stop, and only the Lease is renewed (NHC 2.1/13). A request of an overdue
remediation (`health.runbook.memory_parts`) is annotated as timed out and stays until the target is healthy.
Another check may act on the target only after the Lease is released.

A further step is a new act and needs an admission like the first one. A remediator may still work until an
annotation asks it to stop. The incident waits for that annotation a minute at most, and its details say so,
because a permanent refusal (a dead webhook, a missing right) must not block the remediation. A request or
mark that another actor removed while the target is unhealthy counts as an attempt (rule 14): the next one
waits as if the incident had ended with it, and a person's `resume` skips that wait. A request that the
incident deleted itself, or that the detector counts as an earlier remediation, is not a loss
(`Memory.settled`).
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from health.model.moves import LONGEST_WAIT, AnnotationPatch, NextTransition, Phase
from health.model.observation import HoldReason, TargetState
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_LEASE
from health.runbook import approving
from health.runbook.decision import (
    Annotated,
    AskedApproval,
    Decision,
    Maintenance,
    Moment,
    NextEvent,
    Reason,
    Row,
    TakenStep,
    always,
    decided,
)
from health.runbook.incident import Incident
from health.runbook.maintenance import MaintenanceTask, adopted, grows_old_at, old, timed_out, unhealthy

BY_RESUME = NextTransition(what="by resume, or when it recovers")
BY_AN_ANSWER = NextTransition(what="by approve or reject, or when it recovers")
NO_TEMPLATE_LEFT = NextTransition(what=f"{BY_RESUME.what}: no template is left to try")
ASK_AGAIN = timedelta(minutes=1)


def new_step(incident: Incident) -> Decision:
    return decided(_NEW_STEP, incident)


def remediating(incident: Incident) -> Decision:
    """A maintenance task that is due, or the decision of the first row that matches."""
    decision = decided(_STEP_BEHIND, incident)
    if decision.act is None:
        decision = _in_time(decision, incident)
    return _maintained(decision, incident)


def _in_time(decision: Decision, incident: Incident) -> Decision:
    """Wait, but not longer than until the next maintenance task or deadline."""
    ends = [_overdue(incident), _deadline(incident)]
    if decision.phase is not Phase.REMEDIATING:
        ends = [end and replace(end, event=None) for end in ends]
    requests = incident.observation.requests if incident.is_state_known else ()
    ages = grows_old(requests, incident.now)
    return decision.or_until([_renewal(incident), ages, *ends, safety_net(incident)])


def _maintained(decision: Decision, incident: Incident) -> Decision:
    """The first maintenance task that is due, followed by `decision`."""
    is_known = incident.is_state_known
    if is_known and (patches := _due_patches(incident)):
        return _maintaining(decision, incident, Annotated(patches), Reason.MAINTAINED)
    if is_known and _is_release_due(incident):
        return _maintaining(decision, incident, Maintenance.RELEASE_LEASE, Reason.OVERDUE)
    if _keeps_lease(incident) and incident.memory.lease.is_due(incident.now):
        return _maintaining(decision, incident, Maintenance.RENEW_LEASE, Reason.MAINTAINED)
    return decision


def _maintaining(
    decision: Decision, incident: Incident, act: Annotated | Maintenance, reason: Reason
) -> Decision:
    return replace(decision, phase=_phase(incident), reason=reason, act=act)


def _phase(incident: Incident) -> Phase:
    if not incident.is_state_known or incident.course.running is not None:
        return Phase.REMEDIATING
    return Phase.EXHAUSTED if incident.course.next_step is None else Phase.HELD


def _due_patches(incident: Incident) -> tuple[AnnotationPatch, ...]:
    wanted = (patch for request in incident.observation.requests for patch in _patches_of(request, incident))
    return tuple(
        patch
        for patch in wanted
        if patch is not None and not incident.is_put_off(MaintenanceTask.ANNOTATE, patch.subject)
    )


def _patches_of(request: RequestSnapshot, incident: Incident) -> tuple[AnnotationPatch | None, ...]:
    is_over = incident.is_overdue or incident.plan.is_over(request, incident.now)
    is_unhealthy = incident.observation.state is TargetState.EXPIRED
    stop = timed_out(request, incident.now) if is_over and is_unhealthy else None
    return adopted(request), stop, unhealthy(request), old(request, incident.now)


def _is_release_due(incident: Incident) -> bool:
    """True if the Lease is to be released; not before its remediator was asked to stop."""
    if not incident.is_overdue or not _may_release(incident):
        return False
    stop = incident.stop_awaited_until(incident.observation.requests)
    return stop is None or incident.now >= stop


def _may_release(incident: Incident) -> bool:
    return incident.memory.lease.may_be_held and not incident.is_put_off(MaintenanceTask.CLEAN_UP, OF_LEASE)


def _keeps_lease(incident: Incident) -> bool:
    is_over = incident.is_state_known and incident.course.is_exhausted
    is_held = bool(incident.observation.requests) and incident.memory.lease.may_be_held
    return is_held and not is_over and not incident.is_overdue


def safety_net(incident: Incident) -> Moment:
    """The longest time without a question to the detector."""
    return Moment(incident.now + LONGEST_WAIT)


def hold_ends(incident: Incident) -> Moment | None:
    """When a person's hold expires; None: it does not."""
    held = incident.memory.held
    return Moment(held.until, NextEvent.HOLD_ENDS) if held and held.until else None


def grows_old(requests: Iterable[RequestSnapshot], now: datetime) -> Moment | None:
    """When the first of these requests is to be flagged as old."""
    ages = (grows_old_at(request, now) for request in requests)
    at = min((age for age in ages if age is not None), default=None)
    return Moment(at) if at else None


def _asks_again(incident: Incident) -> Moment | None:
    """When the detector is asked again about its hold."""
    hold = incident.observation.hold
    if hold is None:
        return None
    return Moment(incident.now + timedelta(seconds=hold.ask_again_seconds), NextEvent.ASKS_AGAIN)


def _asks_again_soon(incident: Incident) -> Moment:
    return Moment(incident.now + ASK_AGAIN, NextEvent.ASKS_AGAIN)


def _deadline(incident: Incident) -> Moment | None:
    """When the timer of a waiting target ends."""
    if incident.observation.state is not TargetState.WAITING:
        return None
    left = timedelta(seconds=incident.observation.remaining_seconds)
    return Moment(incident.now + left, NextEvent.DEADLINE_PASSES)


def _step_times_out(incident: Incident) -> Moment | None:
    at = incident.course.until
    return Moment(at, NextEvent.STEP_TIMES_OUT, is_passed=True) if at else None


def _renewal(incident: Incident) -> Moment | None:
    at = incident.memory.lease.renew_at
    return Moment(at, is_renewal=True) if at and _keeps_lease(incident) else None


def _overdue(incident: Incident) -> Moment | None:
    """When the Lease is released because the remediation is overdue."""
    at, stop = incident.overdue_at, incident.stop_awaited_until(incident.observation.requests)
    if at is None or not _may_release(incident):
        return None
    if stop is not None and at < incident.now < stop:
        return Moment(stop, NextEvent.LEASE_IS_RELEASED)
    return Moment(at, NextEvent.LEASE_IS_RELEASED, is_passed=True)


def _stop_is_given_up(incident: Incident) -> Moment | None:
    at = incident.stop_awaited_until(incident.course.over)
    return Moment(at, NextEvent.STOP_IS_GIVEN_UP) if at else None


def _act_is_due(incident: Incident) -> Moment | None:
    failing = incident.memory.failing
    return Moment(failing.next_act, NextEvent.ACT_IS_DUE) if failing else None


def _back_off_ends(incident: Incident) -> Moment | None:
    due = incident.due_after_loss
    return Moment(due, NextEvent.ASKS_AGAIN) if due else None


def _approval_expires(incident: Incident) -> Moment | None:
    """When the default of the check answers; None: it never does, or did not."""
    approval = incident.memory.approval
    if approval is None or approval.expires_at is None or approval.is_expired:
        return None
    return Moment(approval.expires_at, NextEvent.APPROVAL_EXPIRES)


def _ask_for_approval(incident: Incident) -> AskedApproval | None:
    return None if approving.is_asked(incident) else AskedApproval(approving.question(incident))


def _take_step(incident: Incident) -> TakenStep | None:
    admission = incident.observation.admission
    return None if admission is None else TakenStep(incident.next_step, admission)


def _is_held_by_person(incident: Incident) -> bool:
    return incident.memory.held is not None


def _is_unanswered(incident: Incident) -> bool:
    """True if the detector has not answered yet."""
    return not incident.is_state_known and not _has_hold(incident)


def _is_unknown(incident: Incident) -> bool:
    return not incident.is_state_known


def _is_timer_running(incident: Incident) -> bool:
    return incident.observation.state is TargetState.WAITING


def _is_stop_awaited(incident: Incident) -> bool:
    stop = incident.stop_awaited_until(incident.course.over)
    return stop is not None and incident.now < stop


_OF_THE_NEXT_STEP = (HoldReason.NO_ADMISSION, HoldReason.APPROVAL_REQUIRED, HoldReason.STEP_REJECTED)


def _is_held(incident: Incident) -> bool:
    """True if another hold than the missing admission or approval applies.

    An incident that backs off after a failed act asked for no slot: a limit says nothing to it, and its next
    question is due with its next act.
    """
    hold = incident.observation.hold
    if hold is None or hold.reason in _OF_THE_NEXT_STEP:
        return False
    return hold.reason is not HoldReason.LIMIT or not _backs_off(incident)


def _backs_off(incident: Incident) -> bool:
    failing = incident.memory.failing
    return failing is not None and failing.delays(incident.observation, incident.now)


def _is_loss_recent(incident: Incident) -> bool:
    due = incident.due_after_loss
    return due is not None and incident.now < due


def _has_nothing_to_act_on(incident: Incident) -> bool:
    """True for facts that no detector sends, but a workflow that was started by hand may carry."""
    return incident.next_step >= len(incident.observation.steps) or incident.observation.fact is None


def _is_admitted(incident: Incident) -> bool:
    return incident.observation.is_admitted


def _has_hold(incident: Incident) -> bool:
    return incident.observation.hold is not None


def _is_undisturbed(incident: Incident) -> bool:
    """True while the state of the target is unknown: its remediator goes on."""
    return not incident.is_state_known and bool(incident.observation.requests)


def _runs(incident: Incident) -> bool:
    return incident.is_state_known and incident.course.running is not None


def _is_exhausted(incident: Incident) -> bool:
    return incident.is_state_known and incident.course.next_step is None


_NEW_STEP = (
    Row(
        when=_is_held_by_person,
        phase=Phase.HELD,
        reason=Reason.HELD_BY_PERSON,
        until=(hold_ends,),
        otherwise=BY_RESUME,
    ),
    Row(when=_is_unanswered, phase=Phase.HELD, reason=Reason.HELD_BY_DETECTOR),
    Row(when=_is_unknown, phase=Phase.HELD, reason=Reason.HELD_BY_DETECTOR, until=(_asks_again, safety_net)),
    Row(when=_is_timer_running, phase=Phase.WAITING, reason=Reason.TIMER_RUNS, until=(_deadline, safety_net)),
    Row(
        when=_is_stop_awaited,
        phase=Phase.HELD,
        reason=Reason.STOP_AWAITED,
        until=(_stop_is_given_up, safety_net),
    ),
    Row(when=_is_held, phase=Phase.HELD, reason=Reason.HELD_BY_DETECTOR, until=(_asks_again, safety_net)),
    Row(
        when=_has_nothing_to_act_on,
        phase=Phase.HELD,
        reason=Reason.NOTHING_TO_ACT_ON,
        until=(_asks_again_soon, safety_net),
    ),
    Row(when=_backs_off, phase=Phase.HELD, reason=Reason.ACTS_FAIL, until=(_act_is_due, safety_net)),
    Row(
        when=_is_loss_recent, phase=Phase.HELD, reason=Reason.REQUEST_LOST, until=(_back_off_ends, safety_net)
    ),
    Row(
        when=approving.is_missing,
        phase=Phase.HELD,
        reason=Reason.APPROVAL_MISSING,
        until=(_approval_expires, safety_net),
        otherwise=BY_AN_ANSWER,
        acts=(_ask_for_approval,),
    ),
    Row(
        when=approving.is_rejected,
        phase=Phase.HELD,
        reason=Reason.STEP_REJECTED,
        until=(safety_net,),
        otherwise=BY_RESUME,
    ),
    Row(when=_is_admitted, phase=Phase.ACTING, reason=Reason.STEP_DUE, acts=(_take_step,)),
    Row(when=_has_hold, phase=Phase.HELD, reason=Reason.HELD_BY_DETECTOR, until=(_asks_again, safety_net)),
    Row(when=always, phase=Phase.HELD, reason=Reason.ADMISSION_MISSING, until=(_asks_again_soon, safety_net)),
)
"""The rows of the next step; it is taken only if the detector admits it."""
_STEP_BEHIND = (
    Row(
        when=_is_undisturbed,
        phase=Phase.REMEDIATING,
        reason=Reason.STATE_UNKNOWN,
        until=(_asks_again, hold_ends, safety_net),
    ),
    Row(when=_runs, phase=Phase.REMEDIATING, reason=Reason.REQUEST_RUNS, until=(_step_times_out, hold_ends)),
    Row(when=_is_exhausted, phase=Phase.EXHAUSTED, reason=Reason.EXHAUSTED, otherwise=NO_TEMPLATE_LEFT),
    *_NEW_STEP,
)
"""The rows of an incident that has requests, or has tried steps."""
