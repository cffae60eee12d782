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

An approval is asked for once the next step is due and nothing else of check, target and incident holds it. It
is no admission: the detector decides about limits and holds after it, and the act revalidates.
"""

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum, auto
from typing import Self

from health.model.approval import Approval, ApprovalAnswer, names_of, question_id
from health.model.moves import (
    BY_A_CHANGE,
    REQUESTS_ARE_GONE,
    Act,
    AskApproval,
    Deadline,
    End,
    NextTransition,
    Outcome,
    Phase,
    TakeStep,
)
from health.model.observation import HoldReason, TargetState
from health.runbook import deadlines
from health.runbook.incident import Incident
from health.runbook.learn import waits_in_relapse, with_deadline

CONFIRMED = NextTransition(what="when a person confirms that it is healthy")
REMEDIATOR_IS_DONE = NextTransition(what="when its remediator is done")
BY_RESUME = NextTransition(what="by resume, or when it recovers")
BY_AN_ANSWER = NextTransition(what="by approve or reject, or when it recovers")


class Reason(Enum):
    """Why the runbook decides so: the row that matched."""

    NOT_NEEDED = auto()
    """The target is healthy, gone or released."""
    NODE_DELETION_EXPECTED = auto()
    RECOVERING = auto()
    """A healthyDelay runs, or a recovery is being proven."""
    DISRUPTED = auto()
    """The target was deleted or marked, or does not count as healthy yet."""
    LEFT_ALONE = auto()
    STARTS_OVER = auto()
    STATE_UNKNOWN = auto()
    REQUEST_RUNS = auto()
    EXHAUSTED = auto()
    MAINTAINED = auto()
    """A maintenance task is due while requests exist."""
    OVERDUE = auto()
    HELD_BY_PERSON = auto()
    HELD_BY_DETECTOR = auto()
    TIMER_RUNS = auto()
    STOP_AWAITED = auto()
    """The annotation that asks the previous remediator to stop could not be written yet."""
    NOTHING_TO_ACT_ON = auto()
    ACTS_FAIL = auto()
    REQUEST_LOST = auto()
    APPROVAL_MISSING = auto()
    STEP_REJECTED = auto()
    STEP_DUE = auto()
    ADMISSION_MISSING = auto()
    STEP_RECORDED = auto()
    """In shadow: the step is recorded, and nothing follows it."""
    REQUESTS_OF_OTHERS = auto()
    """In shadow: nothing is left to do, and requests of others still exist."""
    ORDER_REMAINS = auto()
    """In shadow: nothing is left to do, and a person's order is still on the target."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """An act, or a wait until the earliest of some deadlines."""

    phase: Phase
    reason: Reason
    until: tuple[Deadline, ...] = ()
    """The deadlines of the wait; with an act, of the wait that follows it."""
    otherwise: NextTransition = BY_A_CHANGE
    """The event that the incident waits for if none of these deadlines moves it on."""
    act: Act | None = None
    """None: wait."""

    def or_until(self, until: Iterable[Deadline | None]) -> Self:
        """The same wait, ended by any of these deadlines as well; None adds nothing."""
        return replace(self, until=(*self.until, *(deadline for deadline in until if deadline is not None)))


@dataclass(frozen=True)
class Row:
    """One row of the runbook; the first row whose condition `when` holds decides."""

    when: Callable[[Incident], object]
    phase: Phase
    reason: Reason
    _: KW_ONLY
    until: tuple[Callable[[Incident], Deadline | None], ...] = ()
    otherwise: NextTransition = BY_A_CHANGE
    acts: tuple[Callable[[Incident], Act | None], ...] = ()
    """The incident does the first act that is due. It waits if none is."""

    def decision(self, incident: Incident) -> Decision:
        act = next((act for due in self.acts if (act := due(incident)) is not None), None)
        wait = Decision(phase=self.phase, reason=self.reason, otherwise=self.otherwise, act=act)
        return wait.or_until(deadline(incident) for deadline in self.until)


def matching(incident: Incident) -> Row:
    """The first row whose condition holds; the last one matches always."""
    return next(row for row in ROWS if row.when(incident))


def _is_in_between(incident: Incident) -> bool:
    """True for a target that is no longer unhealthy and does not count as healthy yet."""
    if incident.memory.left_alone or incident.observation.state is not TargetState.HEALTHY:
        return False
    is_uncertain = incident.observation.requests and not incident.observation.counts_as_healthy
    return incident.memory.disruption.deleted_at is not None or bool(is_uncertain)


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


def _is_over(incident: Incident) -> bool:
    """True if nothing is left to do; an order that stands for a time is also about the next failure."""
    is_healthy = incident.observation.state is TargetState.HEALTHY
    is_kept_by_order = is_healthy and any(order.until for order in incident.memory.blocking)
    return incident.has_ended and not is_kept_by_order


def _is_disrupted(incident: Incident) -> bool:
    """True if a deletion or mark is in progress, so that the incident only waits."""
    is_deleted = incident.memory.disruption.deleted_at is not None
    return is_deleted or bool(incident.observation.under_way) or incident.is_mark_unseen


def _is_exhausted(incident: Incident) -> bool:
    is_over = incident.has_begun and not waits_in_relapse(incident.memory, incident.observation)
    return is_over and incident.is_state_known and incident.progress.next_step is None


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
    """True if the next act would have the same inputs as the failed one, and is not due yet."""
    failing = incident.memory.failing
    return failing is not None and failing.goes_on(incident.observation) and incident.now < failing.next_act


def _is_loss_recent(incident: Incident) -> bool:
    due = incident.due_after_loss
    return due is not None and incident.now < due


def _has_nothing_to_act_on(incident: Incident) -> bool:
    """True for facts that no detector sends, but a workflow that was started by hand may carry."""
    return incident.next_step >= len(incident.observation.steps) or incident.observation.fact is None


def _asked(incident: Incident) -> Approval | None:
    """The question to a person, if it is about the next step."""
    approval, step = incident.memory.approval, incident.observation.steps[incident.next_step]
    return approval if approval is not None and approval.is_for(step) else None


def _is_approval_missing(incident: Incident) -> bool:
    """True if the next step needs an approval and is neither approved nor rejected."""
    required, approval = incident.observation.approval, _asked(incident)
    if required is None or incident.next_step not in required.steps or incident.memory.is_shadow:
        return False
    return approval is None or approval.answer not in (ApprovalAnswer.APPROVED, ApprovalAnswer.REJECTED)


def _is_rejected(incident: Incident) -> bool:
    approval = _asked(incident)
    return approval is not None and approval.answer is ApprovalAnswer.REJECTED


def _ask_for_approval(incident: Incident) -> AskApproval | None:
    """The question about the next step; None: a person was asked."""
    if _asked(incident) is not None:
        return None
    observation, number = incident.observation, incident.next_step
    step, required = observation.steps[number], observation.approval
    version = required.version_of(number) if required else ""
    approval = Approval(
        id=question_id(observation.subject, step, incident.now, observation.generation, version),
        resource=required.resource if required else "",
        step=step,
        names=names_of(step, observation.steps),
        asked_at=incident.now,
        fact=observation.fact,
        generation=observation.generation,
        version=version,
    )
    return AskApproval(with_deadline(approval, observation, incident.now))


def _take_step(incident: Incident) -> TakeStep | None:
    admission = incident.observation.admission
    return None if admission is None else TakeStep(incident.next_step, admission)


def _end(incident: Incident) -> End:
    state, memory = incident.observation.state, incident.memory
    if state is TargetState.GONE:
        # The incident deleted it, or the controller that its mark addressed may have.
        is_marked = memory.disruption.marked_at is not None or (memory.has_acted and memory.is_marked)
        is_replaced = memory.disruption.deleted_at is not None or is_marked
        return End(Outcome.REMEDIATED if is_replaced else Outcome.GONE)
    if state is TargetState.RELEASED:
        return End(Outcome.RELEASED)
    is_remediated = memory.has_acted and not memory.left_alone
    return End(Outcome.REMEDIATED if is_remediated else Outcome.RECOVERED)


INTERRUPTING = (
    Row(
        _is_in_between,
        Phase.REMEDIATING,
        Reason.DISRUPTED,
        until=(deadlines.mark_is_seen, deadlines.renewal_while_disrupted, deadlines.safety_net),
        otherwise=REMEDIATOR_IS_DONE,
        acts=(deadlines.renew_while_disrupted,),
    ),
    Row(
        _is_recovering,
        Phase.HEALTHY_DELAY,
        Reason.RECOVERING,
        until=(
            deadlines.delay_ends,
            deadlines.renewal_after_recovery,
            deadlines.kept_request_grows_old,
            deadlines.safety_net,
        ),
        otherwise=CONFIRMED,
        acts=(deadlines.annotate_after_recovery, deadlines.renew_after_recovery),
    ),
    Row(
        _is_node_deletion_expected,
        Phase.REMEDIATING,
        Reason.NODE_DELETION_EXPECTED,
        until=(deadlines.safety_net,),
        otherwise=REMEDIATOR_IS_DONE,
    ),
    Row(
        _is_clean_up_needed,
        Phase.CLEANING_UP,
        Reason.NOT_NEEDED,
        until=(deadlines.clean_up_is_due, deadlines.safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(deadlines.remove_requests,),
    ),
    Row(_is_over, Phase.ENDED, Reason.NOT_NEEDED, acts=(_end,)),
    Row(
        lambda incident: incident.memory.left_alone and incident.has_objects,
        Phase.CLEANING_UP,
        Reason.LEFT_ALONE,
        until=(deadlines.clean_up_is_due, deadlines.safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(deadlines.remove_requests,),
    ),
    Row(
        lambda incident: incident.memory.left_alone,
        Phase.LEFT_ALONE,
        Reason.LEFT_ALONE,
        until=(deadlines.abort_ends,),
        otherwise=BY_RESUME,
    ),
    Row(
        lambda incident: incident.memory.starts_over and incident.has_objects,
        Phase.CLEANING_UP,
        Reason.STARTS_OVER,
        until=(deadlines.clean_up_is_due, deadlines.hold_ends_without_event, deadlines.safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(deadlines.remove_requests,),
    ),
    Row(
        _is_disrupted,
        Phase.REMEDIATING,
        Reason.DISRUPTED,
        until=(
            deadlines.mark_is_seen,
            deadlines.hold_ends,
            deadlines.renewal_while_disrupted,
            deadlines.safety_net,
        ),
        acts=(deadlines.renew_while_disrupted,),
    ),
)
"""The rows that end or interrupt a remediation: its annotations and its Lease are not maintained."""
MAINTAINED = (
    Row(
        lambda incident: not incident.is_state_known and incident.observation.requests,
        Phase.REMEDIATING,
        Reason.STATE_UNKNOWN,
        until=(deadlines.asks_again, deadlines.hold_ends, deadlines.safety_net),
    ),
    Row(
        lambda incident: incident.is_state_known and incident.progress.running,
        Phase.REMEDIATING,
        Reason.REQUEST_RUNS,
        until=(deadlines.step_times_out, deadlines.hold_ends),
    ),
    Row(_is_exhausted, Phase.EXHAUSTED, Reason.EXHAUSTED, otherwise=BY_RESUME),
    Row(
        lambda incident: incident.memory.held,
        Phase.HELD,
        Reason.HELD_BY_PERSON,
        until=(deadlines.hold_ends,),
        otherwise=BY_RESUME,
    ),
    Row(  # the detector has not answered yet
        lambda incident: not incident.is_state_known and incident.observation.hold is None,
        Phase.HELD,
        Reason.HELD_BY_DETECTOR,
    ),
    Row(
        lambda incident: not incident.is_state_known,
        Phase.HELD,
        Reason.HELD_BY_DETECTOR,
        until=(deadlines.asks_again, deadlines.safety_net),
    ),
    Row(
        lambda incident: incident.observation.state is TargetState.WAITING,
        Phase.WAITING,
        Reason.TIMER_RUNS,
        until=(deadlines.timer_ends, deadlines.safety_net),
    ),
    Row(
        _is_stop_awaited,
        Phase.HELD,
        Reason.STOP_AWAITED,
        until=(deadlines.stop_is_given_up, deadlines.safety_net),
    ),
    Row(_is_held, Phase.HELD, Reason.HELD_BY_DETECTOR, until=(deadlines.asks_again, deadlines.safety_net)),
    Row(
        _has_nothing_to_act_on,
        Phase.HELD,
        Reason.NOTHING_TO_ACT_ON,
        until=(deadlines.asks_again_soon, deadlines.safety_net),
    ),
    Row(_backs_off, Phase.HELD, Reason.ACTS_FAIL, until=(deadlines.act_is_due, deadlines.safety_net)),
    Row(
        _is_loss_recent,
        Phase.HELD,
        Reason.REQUEST_LOST,
        until=(deadlines.back_off_ends, deadlines.safety_net),
    ),
    Row(
        _is_approval_missing,
        Phase.HELD,
        Reason.APPROVAL_MISSING,
        until=(deadlines.approval_expires, deadlines.safety_net),
        otherwise=BY_AN_ANSWER,
        acts=(_ask_for_approval,),
    ),
    Row(_is_rejected, Phase.HELD, Reason.STEP_REJECTED, until=(deadlines.safety_net,), otherwise=BY_RESUME),
    Row(lambda incident: incident.observation.admission, Phase.ACTING, Reason.STEP_DUE, acts=(_take_step,)),
    Row(
        lambda incident: incident.observation.hold,
        Phase.HELD,
        Reason.HELD_BY_DETECTOR,
        until=(deadlines.asks_again, deadlines.safety_net),
    ),
    Row(
        lambda _: True,
        Phase.HELD,
        Reason.ADMISSION_MISSING,
        until=(deadlines.asks_again_soon, deadlines.safety_net),
    ),
)
"""The rows of a remediation that goes on: its annotations and its Lease are maintained meanwhile."""
ROWS = (*INTERRUPTING, *MAINTAINED)
