"""Rows: the runbook as one ordered table; the first row whose condition holds decides. Pure.

The rows of a target that is healthy, gone or released come first, so a recovery leads to them from any phase.
If a remediator expects the deletion of its Node, the request is kept until the remediator reports success or
the check selects a Node of that name again (NHC 2.1/12). The new Node has another uid and an incident of its
own (rule 11). The old Node did not recover, so no healthyDelay runs (NHC 2.6), and the old requests do not
remediate the new Node.

Finalizers may keep a deleted Machine for an hour; the conditions of its Node change nothing meanwhile. A mark
is for another controller, which removes it in the end. Until the detector sees the mark the target is not
marked again, because a late observation would cause a loop. A request is kept while its target is neither
unhealthy nor healthy: a Machine without a Node, or one being deleted (MHC A.2.6).

A further step is a new act and needs an admission like the first one. A remediator may still work until an
annotation asks it to stop. The incident waits for that annotation a minute at most, and its details say so,
because a permanent refusal (a dead webhook, a missing right) must not block the remediation. A request or
mark that another actor removed while the target is unhealthy counts as an attempt (rule 14): the next one
waits as if the incident had ended with it, and a person's `resume` skips that wait. A request that the
incident deleted itself, or that the detector counts as an earlier remediation, is not a loss
(`Memory.settled`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from health.model.moves import (
    BY_A_CHANGE,
    REQUESTS_ARE_GONE,
    Act,
    AskApproval,
    End,
    Moment,
    NextTransition,
    Outcome,
    Phase,
    TakeStep,
)
from health.model.observation import HoldReason, TargetState
from health.runbook import approvals, maintenance, moments, relapse
from health.runbook.decision import Decision, Reason
from health.runbook.incident import Incident

CONFIRMED = NextTransition(what="when a person confirms that it is healthy")
REMEDIATOR_IS_DONE = NextTransition(what="when its remediator is done")
BY_RESUME = NextTransition(what="by resume, or when it recovers")
BY_AN_ANSWER = NextTransition(what="by approve or reject, or when it recovers")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the runbook; the first row whose condition `when` holds decides."""

    when: Callable[[Incident], object]
    phase: Phase
    reason: Reason
    until: tuple[Callable[[Incident], Moment | None], ...] = ()
    otherwise: NextTransition = BY_A_CHANGE
    acts: tuple[Callable[[Incident], Act | None], ...] = ()
    """The incident does the first act that is due. It waits if none is."""
    is_maintained: bool = True
    """True if the annotations and the Lease of a remediation are maintained meanwhile."""

    def decision(self, incident: Incident) -> Decision:
        act = next((act for due in self.acts if (act := due(incident)) is not None), None)
        wait = Decision(phase=self.phase, reason=self.reason, otherwise=self.otherwise, act=act)
        return wait.or_until(moment(incident) for moment in self.until)


def matching(incident: Incident) -> Row:
    """The first row whose condition holds; the last one matches always."""
    return next(row for row in ROWS if row.when(incident))


def _is_recovering(incident: Incident) -> bool:
    """True while a healthyDelay runs or a recovery is being proven."""
    if incident.memory.left_alone or incident.observation.state is not TargetState.HEALTHY:
        return False
    is_proving = incident.proven_at is not None and not incident.observation.requests
    return is_proving or bool(incident.kept_requests)


def _is_node_deletion_expected(incident: Incident) -> bool:
    is_gone = incident.observation.state is TargetState.GONE and not incident.observation.is_replaced
    if incident.memory.left_alone or not is_gone:
        return False
    return any(
        request.is_node_deletion_expected and not request.succeeded
        for request in incident.observation.requests
    )


def _is_clean_up_needed(incident: Incident) -> bool:
    if not incident.has_ended:
        return False
    is_order_left = incident.observation.order is not None and not incident.memory.is_shadow
    return incident.has_objects or incident.observation.is_confirmed or is_order_left


def _is_exhausted(incident: Incident) -> bool:
    is_over = incident.has_begun and not relapse.waits(incident.memory, incident.observation)
    return is_over and incident.is_state_known and incident.course.next_step is None


def _is_stop_awaited(incident: Incident) -> bool:
    stop = incident.step_waits_until
    return stop is not None and incident.now < stop


_OF_THE_NEXT_STEP = (HoldReason.NO_ADMISSION, HoldReason.APPROVAL_REQUIRED, HoldReason.STEP_REJECTED)


def _is_held(incident: Incident) -> bool:
    """True if another hold than the missing admission or approval applies.

    An incident that backs off after a failed act asked for no slot, so a limit does not hold it, and its next
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


def _ask_for_approval(incident: Incident) -> AskApproval | None:
    return None if approvals.is_asked(incident) else AskApproval(approvals.question(incident))


def _take_step(incident: Incident) -> TakeStep | None:
    admission = incident.observation.admission
    return None if admission is None else TakeStep(incident.next_step, admission)


def _end(incident: Incident) -> End:
    state, memory = incident.observation.state, incident.memory
    if state is TargetState.GONE:
        return End(Outcome.REMEDIATED if memory.may_have_replaced_it else Outcome.GONE)
    if state is TargetState.RELEASED:
        return End(Outcome.RELEASED)
    is_remediated = memory.has_acted and not memory.left_alone
    return End(Outcome.REMEDIATED if is_remediated else Outcome.RECOVERED)


ROWS = (
    Row(
        when=lambda incident: incident.is_in_between,
        phase=Phase.REMEDIATING,
        reason=Reason.DISRUPTED,
        until=(moments.mark_is_seen, maintenance.renewal_while_disrupted, moments.safety_net),
        otherwise=REMEDIATOR_IS_DONE,
        acts=(maintenance.renew_while_disrupted,),
        is_maintained=False,
    ),
    Row(
        when=_is_recovering,
        phase=Phase.HEALTHY_DELAY,
        reason=Reason.RECOVERING,
        until=(
            moments.delay_ends,
            maintenance.renewal_after_recovery,
            maintenance.kept_request_grows_old,
            moments.safety_net,
        ),
        otherwise=CONFIRMED,
        acts=(maintenance.annotate_after_recovery, maintenance.renew_after_recovery),
        is_maintained=False,
    ),
    Row(
        when=_is_node_deletion_expected,
        phase=Phase.REMEDIATING,
        reason=Reason.NODE_DELETION_EXPECTED,
        until=(moments.safety_net,),
        otherwise=REMEDIATOR_IS_DONE,
        is_maintained=False,
    ),
    Row(
        when=_is_clean_up_needed,
        phase=Phase.CLEANING_UP,
        reason=Reason.NOT_NEEDED,
        until=(maintenance.clean_up_is_due, moments.safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(maintenance.remove_requests,),
        is_maintained=False,
    ),
    Row(
        when=lambda incident: incident.has_ended and not incident.is_kept_by_order,
        phase=Phase.ENDED,
        reason=Reason.NOT_NEEDED,
        acts=(_end,),
        is_maintained=False,
    ),
    Row(
        when=lambda incident: incident.memory.left_alone and incident.has_objects,
        phase=Phase.CLEANING_UP,
        reason=Reason.LEFT_ALONE,
        until=(maintenance.clean_up_is_due, moments.safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(maintenance.remove_requests,),
        is_maintained=False,
    ),
    Row(
        when=lambda incident: incident.memory.left_alone,
        phase=Phase.LEFT_ALONE,
        reason=Reason.LEFT_ALONE,
        until=(moments.abort_ends,),
        otherwise=BY_RESUME,
        is_maintained=False,
    ),
    Row(
        when=lambda incident: incident.memory.starts_over and incident.has_objects,
        phase=Phase.CLEANING_UP,
        reason=Reason.STARTS_OVER,
        until=(maintenance.clean_up_is_due, moments.hold_ends_without_event, moments.safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(maintenance.remove_requests,),
        is_maintained=False,
    ),
    Row(
        when=lambda incident: incident.is_disrupted,
        phase=Phase.REMEDIATING,
        reason=Reason.DISRUPTED,
        until=(
            moments.mark_is_seen,
            moments.hold_ends,
            maintenance.renewal_while_disrupted,
            moments.safety_net,
        ),
        acts=(maintenance.renew_while_disrupted,),
        is_maintained=False,
    ),
    Row(
        when=lambda incident: not incident.is_state_known and incident.observation.requests,
        phase=Phase.REMEDIATING,
        reason=Reason.STATE_UNKNOWN,
        until=(moments.asks_again, moments.hold_ends, moments.safety_net),
    ),
    Row(
        when=lambda incident: incident.is_state_known and incident.course.running,
        phase=Phase.REMEDIATING,
        reason=Reason.REQUEST_RUNS,
        until=(moments.step_times_out, moments.hold_ends),
    ),
    Row(when=_is_exhausted, phase=Phase.EXHAUSTED, reason=Reason.EXHAUSTED, otherwise=BY_RESUME),
    Row(
        when=lambda incident: incident.memory.held,
        phase=Phase.HELD,
        reason=Reason.HELD_BY_PERSON,
        until=(moments.hold_ends,),
        otherwise=BY_RESUME,
    ),
    Row(  # the detector has not answered yet
        when=lambda incident: not incident.is_state_known and incident.observation.hold is None,
        phase=Phase.HELD,
        reason=Reason.HELD_BY_DETECTOR,
    ),
    Row(
        when=lambda incident: not incident.is_state_known,
        phase=Phase.HELD,
        reason=Reason.HELD_BY_DETECTOR,
        until=(moments.asks_again, moments.safety_net),
    ),
    Row(
        when=lambda incident: incident.observation.state is TargetState.WAITING,
        phase=Phase.WAITING,
        reason=Reason.TIMER_RUNS,
        until=(moments.deadline, moments.safety_net),
    ),
    Row(
        when=_is_stop_awaited,
        phase=Phase.HELD,
        reason=Reason.STOP_AWAITED,
        until=(moments.stop_is_given_up, moments.safety_net),
    ),
    Row(
        when=_is_held,
        phase=Phase.HELD,
        reason=Reason.HELD_BY_DETECTOR,
        until=(moments.asks_again, moments.safety_net),
    ),
    Row(
        when=_has_nothing_to_act_on,
        phase=Phase.HELD,
        reason=Reason.NOTHING_TO_ACT_ON,
        until=(moments.asks_again_soon, moments.safety_net),
    ),
    Row(
        when=_backs_off,
        phase=Phase.HELD,
        reason=Reason.ACTS_FAIL,
        until=(moments.act_is_due, moments.safety_net),
    ),
    Row(
        when=_is_loss_recent,
        phase=Phase.HELD,
        reason=Reason.REQUEST_LOST,
        until=(moments.back_off_ends, moments.safety_net),
    ),
    Row(
        when=approvals.is_missing,
        phase=Phase.HELD,
        reason=Reason.APPROVAL_MISSING,
        until=(moments.approval_expires, moments.safety_net),
        otherwise=BY_AN_ANSWER,
        acts=(_ask_for_approval,),
    ),
    Row(
        when=approvals.is_rejected,
        phase=Phase.HELD,
        reason=Reason.STEP_REJECTED,
        until=(moments.safety_net,),
        otherwise=BY_RESUME,
    ),
    Row(
        when=lambda incident: incident.observation.admission,
        phase=Phase.ACTING,
        reason=Reason.STEP_DUE,
        acts=(_take_step,),
    ),
    Row(
        when=lambda incident: incident.observation.hold,
        phase=Phase.HELD,
        reason=Reason.HELD_BY_DETECTOR,
        until=(moments.asks_again, moments.safety_net),
    ),
    Row(
        when=lambda _: True,
        phase=Phase.HELD,
        reason=Reason.ADMISSION_MISSING,
        until=(moments.asks_again_soon, moments.safety_net),
    ),
)
