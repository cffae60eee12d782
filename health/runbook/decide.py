"""Decide: what an incident does next, as a pure function of its observation and its memory.

This is the runbook. It is called after every move and every observation, so it works from any state: after
a restart, an edit of the check, a recovery in the middle, an abort. The first row that matches decides. The
rows of a target that is healthy, gone or released come first, so a recovery leads to them from any phase.

If a remediator expects the deletion of its Node, the request is kept until the remediator reports success or
the check selects a Node of that name again (NHC 2.1/12). The new Node has another uid and an incident of its
own (rule 11). The old Node did not recover, so no healthyDelay runs (NHC 2.6), and the old requests do not
remediate the new Node.

Finalizers may keep a deleted Machine for an hour; the conditions of its Node change nothing meanwhile. A mark
is for another controller, which removes it in the end. Until the detector sees the mark the target is not
marked again, because a late observation would cause a loop. A request is kept while its target is neither
unhealthy nor healthy: a Machine without a Node, or one being deleted (MHC A.2.6).

Clean-up: each object is deleted separately, so a finalizer or a failure blocks no other object. While a
request exists its remediator may be working, so the Lease of the target stays until it expires; it is not
renewed once the remediation is over (NHC 2.6). A clean-up is repeated when the detector sees other requests
than before, each minute while a finalizer keeps a request, and by its back-off after a failure.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from health.model.moves import REQUESTS_ARE_GONE, Move, NextTransition, Outcome, Phase
from health.model.observation import Observation, TargetState
from health.runbook import shadow
from health.runbook.by_order import expires_at
from health.runbook.decision import (
    Annotated,
    Decision,
    Ended,
    Maintenance,
    Moment,
    NextEvent,
    Reason,
    RecordedStep,
    Row,
    SavedEvidence,
    TakenStep,
    always,
    decided,
    matching,
)
from health.runbook.incident import Incident
from health.runbook.maintenance import MaintenanceTask, adopted, healthy, old, still_ahead
from health.runbook.memory_parts import SEEN_AFTER
from health.runbook.remediating import BY_RESUME, grows_old, hold_ends, new_step, remediating, safety_net
from health.runbook.state import Memory
from health.runbook.words import as_move

CONFIRMED = NextTransition(what="when a person confirms that it is healthy")
REMEDIATOR_IS_DONE = NextTransition(what="when its remediator is done")
ORDER_IS_REMOVED = NextTransition(what="when a person removes the order from the target")


def next_move(observation: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident with this observation and this memory."""
    incident = Incident.of(observation, memory, now)
    decision = _decide(incident)
    if memory.is_shadow:
        decision = _in_shadow(decision, incident)
    decision = _until_the_order_expires(decision, incident)
    return as_move(_with_evidence(_with_retries(decision, incident), incident), incident)


def _decide(incident: Incident) -> Decision:
    if incident.has_ended:
        return decided(_ENDED, incident)
    if row := matching(_UNHEALTHY, incident):
        decision = row.decision(incident)
    elif incident.observation.requests or incident.memory.spent:
        decision = remediating(incident)
    else:
        decision = new_step(incident)
    return _until_resume(decision, incident)


def _until_resume(decision: Decision, incident: Incident) -> Decision:
    """The same; under a person's hold without an end, no moment moves a running remediation on."""
    held = incident.memory.held
    if decision.phase is not Phase.REMEDIATING or held is None or held.until is not None:
        return decision
    until = tuple(replace(moment, event=None) for moment in decision.until)
    return replace(decision, until=until, otherwise=BY_RESUME)


def _in_shadow(decision: Decision, incident: Incident) -> Decision:
    """The same, but a step is recorded; the incident waits until requests of others are gone."""
    record = incident.memory.shadow
    match decision.act:
        case TakenStep(step=number) if shadow.is_over(incident.observation.steps[number], record):
            wait = Decision(
                phase=Phase.REMEDIATING, reason=Reason.STEP_RECORDED, otherwise=REMEDIATOR_IS_DONE
            )
            return wait.or_until([safety_net(incident)])
        case TakenStep(step=number):
            return replace(decision, act=RecordedStep(number))
        case Ended() if incident.others:
            wait = Decision(
                phase=Phase.CLEANING_UP, reason=Reason.REQUESTS_OF_OTHERS, otherwise=REQUESTS_ARE_GONE
            )
            return wait.or_until([safety_net(incident)])
        case Ended() if incident.observation.order is not None:
            wait = Decision(phase=Phase.CLEANING_UP, reason=Reason.ORDER_REMAINS, otherwise=ORDER_IS_REMOVED)
            return wait.or_until([safety_net(incident)])
        case Ended() if record.steps and not incident.memory.has_acted:
            return replace(decision, act=Ended(Outcome.WOULD_HAVE_REMEDIATED))
    return decision


def _until_the_order_expires(decision: Decision, incident: Incident) -> Decision:
    """The same, but no wait is longer than the order that alone makes the target unhealthy."""
    if decision.act is not None:
        return decision
    at = expires_at(incident.observation, incident.memory)
    return decision.or_until([Moment(at, NextEvent.ORDER_EXPIRES) if at else None])


def _with_retries(decision: Decision, incident: Incident) -> Decision:
    """The same, but no wait is longer than until the next try of a failed maintenance task."""
    if decision.act is not None:
        return decision
    return decision.or_until(
        Moment(note.next_try) for note in still_ahead(incident.memory.notes, incident.now)
    )


def _with_evidence(decision: Decision, incident: Incident) -> Decision:
    """The same, but evidence is saved before the first step, if the check wants it and nothing tried yet."""
    is_wanted = incident.observation.evidence is not None and incident.memory.evidence is None
    if not is_wanted or not isinstance(decision.act, TakenStep | RecordedStep):
        return decision
    return replace(decision, act=SavedEvidence(decision.act))


def _is_in_between(incident: Incident) -> bool:
    return not incident.memory.left_alone and incident.is_in_between


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
    is_order_left = incident.observation.order is not None and not incident.memory.is_shadow
    return incident.has_objects or incident.observation.is_confirmed or is_order_left


def _is_left_alone(incident: Incident) -> bool:
    return incident.memory.left_alone is not None


def _is_left_alone_with_objects(incident: Incident) -> bool:
    return _is_left_alone(incident) and incident.has_objects


def _starts_over(incident: Incident) -> bool:
    return incident.memory.starts_over is not None and incident.has_objects


def _mark_is_seen(incident: Incident) -> Moment | None:
    marked_at = incident.memory.disruption.marked_at
    return Moment(marked_at + SEEN_AFTER) if marked_at and incident.is_mark_unseen else None


def _delay_ends(incident: Incident) -> Moment | None:
    """When the delay has ended and the recovery is proven; None: not before a person confirms."""
    delay, kept, proven = incident.delay, incident.kept_requests, incident.proven_at
    if kept and delay.is_for_good:
        return None
    left = [delay.remaining(one, incident.now) for one in kept if delay.keeps_requests]
    delayed = incident.now + max((rest for rest in left if rest is not None), default=timedelta())
    if proven is not None and proven >= delayed:
        return Moment(proven, NextEvent.RECOVERY_IS_PROVEN)
    return Moment(delayed, NextEvent.DELAY_ENDS)


def _abort_ends(incident: Incident) -> Moment | None:
    order = incident.memory.left_alone
    return Moment(order.until, NextEvent.ABORT_ENDS) if order and order.until else None


def _clean_up_is_due(incident: Incident) -> Moment | None:
    at = incident.memory.clean_up_at
    has_failed = any(note.task is MaintenanceTask.CLEAN_UP for note in incident.memory.notes)
    return Moment(at, NextEvent.CLEANS_UP_AGAIN if has_failed else None) if at else None


def _hold_ends_without_event(incident: Incident) -> Moment | None:
    """The end of a person's hold, which is no reason to go on with a clean-up."""
    ends = hold_ends(incident)
    return ends and replace(ends, event=None)


def _grows_old(incident: Incident) -> Moment | None:
    return grows_old(incident.kept_requests, incident.now)


def _renewal_while_disrupted(incident: Incident) -> Moment | None:
    """The renewal of the Lease while a deletion or mark is in progress."""
    lease = incident.memory.lease
    return Moment(lease.renew_at, is_renewal=True) if lease.may_be_held and lease.renew_at else None


def _renewal_after_recovery(incident: Incident) -> Moment | None:
    is_needed = incident.kept_requests or incident.observation.is_marked
    return _renewal_while_disrupted(incident) if is_needed else None


def _renew(incident: Incident) -> Maintenance | None:
    lease = incident.memory.lease
    return Maintenance.RENEW_LEASE if lease.may_be_held and lease.is_due(incident.now) else None


def _renew_after_recovery(incident: Incident) -> Maintenance | None:
    renewal = _renewal_after_recovery(incident)
    return Maintenance.RENEW_LEASE if renewal is not None and incident.now >= renewal.at else None


def _annotate_after_recovery(incident: Incident) -> Annotated | None:
    delay, kept, now = incident.delay, incident.kept_requests, incident.now
    is_stamped = delay.keeps_requests and not delay.is_for_good
    since = (healthy(one, now) for one in kept) if is_stamped else ()
    of_each = (patch for one in kept for patch in (adopted(one), old(one, now)))
    wanted = (patch for patch in (*since, *of_each) if patch is not None)
    due = tuple(one for one in wanted if not incident.is_put_off(MaintenanceTask.ANNOTATE, one.subject))
    return Annotated(due) if due else None


def _remove_requests(incident: Incident) -> Maintenance | None:
    """Clean up now; None: wait for the next try."""
    memory, observation = incident.memory, incident.observation
    is_due = memory.clean_up_at is None or incident.now >= memory.clean_up_at
    was_asked = incident.is_state_known or observation.hold is not None
    is_changed = memory.cleaned_up != tuple(sorted(request.uid for request in observation.requests))
    return Maintenance.REMOVE_REQUESTS if is_due or (was_asked and is_changed) else None


def _end(incident: Incident) -> Ended:
    state, memory = incident.observation.state, incident.memory
    if state is TargetState.GONE:
        return Ended(Outcome.REMEDIATED if memory.may_have_replaced_it else Outcome.GONE)
    if state is TargetState.RELEASED:
        return Ended(Outcome.RELEASED)
    is_remediated = memory.has_acted and not memory.left_alone
    return Ended(Outcome.REMEDIATED if is_remediated else Outcome.RECOVERED)


_ENDED = (
    Row(
        when=_is_in_between,
        phase=Phase.REMEDIATING,
        reason=Reason.DISRUPTED,
        until=(_mark_is_seen, _renewal_while_disrupted, safety_net),
        otherwise=REMEDIATOR_IS_DONE,
        acts=(_renew,),
    ),
    Row(
        when=_is_recovering,
        phase=Phase.HEALTHY_DELAY,
        reason=Reason.RECOVERING,
        until=(_delay_ends, _renewal_after_recovery, _grows_old, safety_net),
        otherwise=CONFIRMED,
        acts=(_annotate_after_recovery, _renew_after_recovery),
    ),
    Row(
        when=_is_node_deletion_expected,
        phase=Phase.REMEDIATING,
        reason=Reason.NODE_DELETION_EXPECTED,
        until=(safety_net,),
        otherwise=REMEDIATOR_IS_DONE,
    ),
    Row(
        when=_is_clean_up_needed,
        phase=Phase.CLEANING_UP,
        reason=Reason.NOT_NEEDED,
        until=(_clean_up_is_due, safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(_remove_requests,),
    ),
    Row(when=always, phase=Phase.ENDED, reason=Reason.NOT_NEEDED, acts=(_end,)),
)
"""The rows of a target that is healthy, gone or released."""
_UNHEALTHY = (
    Row(
        when=_is_left_alone_with_objects,
        phase=Phase.CLEANING_UP,
        reason=Reason.LEFT_ALONE,
        until=(_clean_up_is_due, safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(_remove_requests,),
    ),
    Row(
        when=_is_left_alone,
        phase=Phase.LEFT_ALONE,
        reason=Reason.LEFT_ALONE,
        until=(_abort_ends,),
        otherwise=BY_RESUME,
    ),
    Row(
        when=_starts_over,
        phase=Phase.CLEANING_UP,
        reason=Reason.STARTS_OVER,
        until=(_clean_up_is_due, _hold_ends_without_event, safety_net),
        otherwise=REQUESTS_ARE_GONE,
        acts=(_remove_requests,),
    ),
    Row(
        when=lambda incident: incident.is_disrupted,
        phase=Phase.REMEDIATING,
        reason=Reason.DISRUPTED,
        until=(_mark_is_seen, hold_ends, _renewal_while_disrupted, safety_net),
        acts=(_renew,),
    ),
)
"""The rows of any other target, before those of its remediation (`health.runbook.remediating`)."""
