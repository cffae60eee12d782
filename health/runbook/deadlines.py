"""Deadlines: when the wait of an incident ends, and which maintenance task is due. Pure.

Each function returns one deadline or one task of an incident; None: nothing ends the wait in that way, or the
task is not due. The rows of the runbook choose among them.

Maintenance comes first, during any hold (rule 7): ask the remediator of a request that is over to stop,
release the Lease when the remediation is overdue, otherwise renew it. While only a timer runs nothing
escalates: no remediator is asked to stop, and only the Lease is renewed (NHC 2.1/13). A request of an overdue
remediation (`health.runbook.incident`) is annotated as timed out and stays until the target is healthy.
Another check may act on the target only after the Lease is released.

Annotations have the format of remediators and the NodeHealthCheck operator. A request that is over gets an
annotation that asks its remediator to stop, unless it succeeded (NHC 2.4/6, NHC 2.5). A request whose target
is healthy again says since when, while a healthyDelay keeps it; the annotation is removed when the target
fails again (NHC 2.6, rule 19). A proof of recovery keeps requests without that annotation. A request older
than 48 hours is flagged once (NHC 2.1/17, rule 23). An incident writes its name on a request that it adopts,
because activities change no other request (rule 52).

Clean-up: each object is deleted separately, so a finalizer or a failure blocks no other object. While a
request exists its remediator may be working, so the Lease of the target stays until it expires; it is not
renewed once the remediation is over (NHC 2.6). A clean-up is repeated when the detector sees other requests
than before, each minute while a finalizer keeps a request, and by its back-off after a failure.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from health.model.moves import (
    LONGEST_WAIT,
    AnnotateRequests,
    AnnotationPatch,
    Deadline,
    NextEvent,
    ReleaseLease,
    RemoveRequests,
    RenewLease,
)
from health.model.observation import TargetState
from health.model.remediation_request import GREW_OLD, GREW_OLD_FLAG, HEALTHY_DELAY, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_LEASE
from health.runbook.failures import MaintenanceTask
from health.runbook.incident import Incident
from health.runbook.memory_parts import SEEN_AFTER
from objects.timestamps import stamp

ASK_AGAIN = timedelta(minutes=1)
OLD = timedelta(hours=48)
CLOCK_SKEW = timedelta(minutes=1)
"""How far a timestamp may be ahead of our clock."""


def safety_net(incident: Incident) -> Deadline:
    """The longest time without a question to the detector."""
    return Deadline(incident.now + LONGEST_WAIT)


def mark_is_seen(incident: Incident) -> Deadline | None:
    marked_at = incident.memory.disruption.marked_at
    return Deadline(marked_at + SEEN_AFTER) if marked_at and incident.is_mark_unseen else None


def delay_ends(incident: Incident) -> Deadline | None:
    """When the delay has ended and the recovery is proven; None: not before a person confirms."""
    delay, kept, proven = incident.delay, incident.kept_requests, incident.proven_at
    if kept and delay.is_for_good:
        return None
    left = [delay.remaining(request, incident.now) for request in kept if delay.keeps_requests]
    delayed = incident.now + max((rest for rest in left if rest is not None), default=timedelta())
    if proven is not None and proven >= delayed:
        return Deadline(proven, NextEvent.RECOVERY_IS_PROVEN)
    return Deadline(delayed, NextEvent.DELAY_ENDS)


def abort_ends(incident: Incident) -> Deadline | None:
    order = incident.memory.left_alone
    return Deadline(order.until, NextEvent.ABORT_ENDS) if order and order.until else None


def hold_ends(incident: Incident) -> Deadline | None:
    """When a person's hold expires; None: it does not."""
    held = incident.memory.held
    return Deadline(held.until, NextEvent.HOLD_ENDS) if held and held.until else None


def hold_ends_without_event(incident: Incident) -> Deadline | None:
    """The end of a person's hold, which is no reason to go on with a clean-up."""
    ends = hold_ends(incident)
    return ends and replace(ends, event=None)


def timer_ends(incident: Incident) -> Deadline | None:
    """When the duration of the check is over for a waiting target."""
    if incident.observation.state is not TargetState.WAITING:
        return None
    left = timedelta(seconds=incident.observation.remaining_seconds)
    return Deadline(incident.now + left, NextEvent.DEADLINE_PASSES)


def step_times_out(incident: Incident) -> Deadline | None:
    at = incident.progress.until
    return Deadline(at, NextEvent.STEP_TIMES_OUT, is_passed=True) if at else None


def stop_is_given_up(incident: Incident) -> Deadline | None:
    at = incident.step_waits_until
    return Deadline(at, NextEvent.STOP_IS_GIVEN_UP) if at else None


def act_is_due(incident: Incident) -> Deadline | None:
    failing = incident.memory.failing
    return Deadline(failing.next_act, NextEvent.ACT_IS_DUE) if failing else None


def back_off_ends(incident: Incident) -> Deadline | None:
    due = incident.due_after_loss
    return Deadline(due, NextEvent.ASKS_AGAIN) if due else None


def approval_expires(incident: Incident) -> Deadline | None:
    """When the default of the check answers; None: it never does, or did not."""
    approval = incident.memory.approval
    if approval is None or approval.expires_at is None or approval.is_expired:
        return None
    return Deadline(approval.expires_at, NextEvent.APPROVAL_EXPIRES)


def asks_again(incident: Incident) -> Deadline | None:
    """When the detector is asked again about its hold."""
    hold = incident.observation.hold
    if hold is None:
        return None
    return Deadline(incident.now + timedelta(seconds=hold.ask_again_seconds), NextEvent.ASKS_AGAIN)


def asks_again_soon(incident: Incident) -> Deadline:
    return Deadline(incident.now + ASK_AGAIN, NextEvent.ASKS_AGAIN)


def adopted(request: RequestSnapshot) -> AnnotationPatch | None:
    """The annotation of the incident, for a request that another operator made."""
    if not request.is_unsigned or request.is_being_deleted:
        return None
    return AnnotationPatch(request=request.reference, adopts=True)


def timed_out(request: RequestSnapshot, now: datetime) -> AnnotationPatch | None:
    """The annotation that asks the remediator of a request that is over to stop."""
    if request.timed_out_at is not None or request.succeeded:
        return None
    return AnnotationPatch(request=request.reference, annotations={TIMED_OUT: stamp(now)})


def healthy(request: RequestSnapshot, now: datetime) -> AnnotationPatch | None:
    """The time since when the target is healthy; a timestamp far in the future is replaced."""
    if request.healthy_since is not None and request.healthy_since <= now + CLOCK_SKEW:
        return None
    return AnnotationPatch(request=request.reference, annotations={HEALTHY_DELAY: stamp(now)})


def unhealthy(request: RequestSnapshot) -> AnnotationPatch | None:
    """The removal of that timestamp after the target failed again."""
    if request.healthy_since is None:
        return None
    return AnnotationPatch(request=request.reference, annotations={HEALTHY_DELAY: None})


def old(request: RequestSnapshot, now: datetime) -> AnnotationPatch | None:
    """The flag for a request older than 48 hours."""
    if request.is_flagged_as_old or now < request.created + OLD:
        return None
    return AnnotationPatch(request=request.reference, annotations={GREW_OLD: GREW_OLD_FLAG})


def annotate(incident: Incident) -> AnnotateRequests | None:
    """Write the missing annotations of requests before a recovery; none while the state is unknown."""
    if not incident.is_state_known:
        return None
    is_unhealthy, now = incident.observation.state is TargetState.EXPIRED, incident.now
    patches: list[AnnotationPatch | None] = []
    for request in incident.observation.requests:
        is_over = is_unhealthy and (incident.is_overdue or incident.plan.is_over(request, now))
        stop = timed_out(request, now) if is_over else None
        patches += (adopted(request), stop, unhealthy(request), old(request, now))
    return _annotated(patches, incident)


def annotate_after_recovery(incident: Incident) -> AnnotateRequests | None:
    delay, kept, now = incident.delay, incident.kept_requests, incident.now
    is_stamped = delay.keeps_requests and not delay.is_for_good
    since = (healthy(request, now) for request in kept) if is_stamped else ()
    of_each = (patch for request in kept for patch in (adopted(request), old(request, now)))
    return _annotated((*since, *of_each), incident)


def _annotated(patches: Iterable[AnnotationPatch | None], incident: Incident) -> AnnotateRequests | None:
    wanted = (patch for patch in patches if patch is not None)
    put_off = incident.put_off
    due = tuple(patch for patch in wanted if (MaintenanceTask.ANNOTATE, patch.subject) not in put_off)
    return AnnotateRequests(due) if due else None


def grows_old(incident: Incident) -> Deadline | None:
    return _first_old(incident.observation.requests, incident) if incident.is_state_known else None


def kept_request_grows_old(incident: Incident) -> Deadline | None:
    return _first_old(incident.kept_requests, incident)


def _first_old(requests: Iterable[RequestSnapshot], incident: Incident) -> Deadline | None:
    """When the first of these requests is to be flagged as old."""
    ages = (request.created + OLD for request in requests if not request.is_flagged_as_old)
    at = min((age for age in ages if incident.now < age), default=None)
    return Deadline(at) if at else None


def release_lease(incident: Incident) -> ReleaseLease | None:
    """Release the Lease of an overdue remediation; not before its remediator was asked to stop."""
    stop = incident.release_waits_until
    is_due = incident.is_overdue and _may_release(incident) and (stop is None or incident.now >= stop)
    return ReleaseLease() if is_due else None


def lease_is_released(incident: Incident) -> Deadline | None:
    """When the Lease is released because the remediation is overdue."""
    at, stop = incident.overdue_at, incident.release_waits_until
    if at is None or not _may_release(incident):
        return None
    if stop is not None and at < incident.now < stop:
        return Deadline(stop, NextEvent.LEASE_IS_RELEASED)
    return Deadline(at, NextEvent.LEASE_IS_RELEASED, is_passed=True)


def _may_release(incident: Incident) -> bool:
    return incident.memory.lease.may_be_held and (MaintenanceTask.CLEAN_UP, OF_LEASE) not in incident.put_off


def renew_lease(incident: Incident) -> RenewLease | None:
    return renew_while_disrupted(incident) if _keeps_lease(incident) else None


def renewal(incident: Incident) -> Deadline | None:
    return renewal_while_disrupted(incident) if _keeps_lease(incident) else None


def _keeps_lease(incident: Incident) -> bool:
    """True while a remediation with requests runs, which is neither exhausted nor overdue."""
    is_over = incident.is_state_known and incident.progress.is_exhausted
    return bool(incident.observation.requests) and not is_over and not incident.is_overdue


def renew_while_disrupted(incident: Incident) -> RenewLease | None:
    """Renew the Lease while a deletion or mark is in progress."""
    lease = incident.memory.lease
    return RenewLease() if lease.may_be_held and lease.is_due(incident.now) else None


def renewal_while_disrupted(incident: Incident) -> Deadline | None:
    lease = incident.memory.lease
    return Deadline(lease.renew_at, is_renewal=True) if lease.may_be_held and lease.renew_at else None


def renew_after_recovery(incident: Incident) -> RenewLease | None:
    at = renewal_after_recovery(incident)
    return RenewLease() if at is not None and incident.now >= at.at else None


def renewal_after_recovery(incident: Incident) -> Deadline | None:
    is_needed = incident.kept_requests or incident.observation.is_marked
    return renewal_while_disrupted(incident) if is_needed else None


def remove_requests(incident: Incident) -> RemoveRequests | None:
    """Clean up now; None: wait for the next try."""
    memory, observation = incident.memory, incident.observation
    is_due = memory.clean_up_at is None or incident.now >= memory.clean_up_at
    was_asked = incident.is_state_known or observation.hold is not None
    is_changed = memory.cleaned_up != tuple(sorted(request.uid for request in observation.requests))
    return RemoveRequests() if is_due or (was_asked and is_changed) else None


def clean_up_is_due(incident: Incident) -> Deadline | None:
    at = incident.memory.clean_up_at
    has_failed = any(note.task is MaintenanceTask.CLEAN_UP for note in incident.memory.notes)
    return Deadline(at, NextEvent.CLEANS_UP_AGAIN if has_failed else None) if at else None
