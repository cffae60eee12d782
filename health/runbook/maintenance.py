"""Maintenance: which maintenance task of an incident is due now, and when the next one is. Pure.

Maintenance comes first, during any hold (rule 7): ask the remediator of a request that is over to stop,
release the Lease when the remediation is overdue, otherwise renew it. While only a timer runs nothing
escalates: no remediator is asked to stop, and only the Lease is renewed (NHC 2.1/13). A request of an overdue
remediation (`health.runbook.memory_parts`) is annotated as timed out and stays until the target is healthy.
Another check may act on the target only after the Lease is released.

Annotations have the format of remediators and the NodeHealthCheck operator. A request that is over gets an
annotation that asks its remediator to stop, unless it succeeded (NHC 2.4/6, NHC 2.5). A request whose target
is healthy again says since when, while a healthyDelay keeps it; the annotation is removed when the target
fails again (NHC 2.6, rule 19). A request older than 48 hours is flagged once (NHC 2.1/17, rule 23). An
incident writes its name on a request that it adopts, because activities change no other request (rule 52).

Clean-up: each object is deleted separately, so a finalizer or a failure blocks no other object. While a
request exists its remediator may be working, so the Lease of the target stays until it expires; it is not
renewed once the remediation is over (NHC 2.6). A clean-up is repeated when the detector sees other requests
than before, each minute while a finalizer keeps a request, and by its back-off after a failure.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from health.model.moves import (
    AnnotateRequests,
    AnnotationPatch,
    Moment,
    NextEvent,
    ReleaseLease,
    RemoveRequests,
    RenewLease,
)
from health.model.observation import TargetState
from health.model.remediation_request import GREW_OLD, GREW_OLD_FLAG, HEALTHY_DELAY, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_LEASE
from health.runbook.incident import Incident
from health.runbook.task_notes import MaintenanceTask
from objects.timestamps import stamp

OLD = timedelta(hours=48)
CLOCK_SKEW = timedelta(minutes=1)
"""How far a timestamp may be ahead of our clock."""


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
    requests = incident.observation.requests
    return _annotated((patch for request in requests for patch in _patches_of(request, incident)), incident)


def _patches_of(request: RequestSnapshot, incident: Incident) -> tuple[AnnotationPatch | None, ...]:
    is_over = incident.is_overdue or incident.plan.is_over(request, incident.now)
    is_unhealthy = incident.observation.state is TargetState.EXPIRED
    stop = timed_out(request, incident.now) if is_over and is_unhealthy else None
    return adopted(request), stop, unhealthy(request), old(request, incident.now)


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


def grows_old(incident: Incident) -> Moment | None:
    return _first_old(incident.observation.requests, incident) if incident.is_state_known else None


def kept_request_grows_old(incident: Incident) -> Moment | None:
    return _first_old(incident.kept_requests, incident)


def _first_old(requests: Iterable[RequestSnapshot], incident: Incident) -> Moment | None:
    """When the first of these requests is to be flagged as old."""
    ages = (request.created + OLD for request in requests if not request.is_flagged_as_old)
    at = min((age for age in ages if incident.now < age), default=None)
    return Moment(at) if at else None


def release_lease(incident: Incident) -> ReleaseLease | None:
    """Release the Lease of an overdue remediation; not before its remediator was asked to stop."""
    stop = incident.release_waits_until
    is_due = incident.is_overdue and _may_release(incident) and (stop is None or incident.now >= stop)
    return ReleaseLease() if is_due else None


def overdue(incident: Incident) -> Moment | None:
    """When the Lease is released because the remediation is overdue."""
    at, stop = incident.overdue_at, incident.release_waits_until
    if at is None or not _may_release(incident):
        return None
    if stop is not None and at < incident.now < stop:
        return Moment(stop, NextEvent.LEASE_IS_RELEASED)
    return Moment(at, NextEvent.LEASE_IS_RELEASED, is_passed=True)


def _may_release(incident: Incident) -> bool:
    return incident.memory.lease.may_be_held and (MaintenanceTask.CLEAN_UP, OF_LEASE) not in incident.put_off


def renew_lease(incident: Incident) -> RenewLease | None:
    is_due = _keeps_lease(incident) and incident.memory.lease.is_due(incident.now)
    return RenewLease() if is_due else None


def renewal(incident: Incident) -> Moment | None:
    at = incident.memory.lease.renew_at
    return Moment(at, is_renewal=True) if at and _keeps_lease(incident) else None


def _keeps_lease(incident: Incident) -> bool:
    is_over = incident.is_state_known and incident.course.is_exhausted
    is_held = bool(incident.observation.requests) and incident.memory.lease.may_be_held
    return is_held and not is_over and not incident.is_overdue


def renew_while_disrupted(incident: Incident) -> RenewLease | None:
    """Renew the Lease while a deletion or mark is in progress."""
    lease = incident.memory.lease
    return RenewLease() if lease.may_be_held and lease.is_due(incident.now) else None


def renewal_while_disrupted(incident: Incident) -> Moment | None:
    lease = incident.memory.lease
    return Moment(lease.renew_at, is_renewal=True) if lease.may_be_held and lease.renew_at else None


def renew_after_recovery(incident: Incident) -> RenewLease | None:
    at = renewal_after_recovery(incident)
    return RenewLease() if at is not None and incident.now >= at.at else None


def renewal_after_recovery(incident: Incident) -> Moment | None:
    is_needed = incident.kept_requests or incident.observation.is_marked
    return renewal_while_disrupted(incident) if is_needed else None


def remove_requests(incident: Incident) -> RemoveRequests | None:
    """Clean up now; None: wait for the next try."""
    memory, observation = incident.memory, incident.observation
    is_due = memory.clean_up_at is None or incident.now >= memory.clean_up_at
    was_asked = incident.is_state_known or observation.hold is not None
    is_changed = memory.cleaned_up != tuple(sorted(request.uid for request in observation.requests))
    return RemoveRequests() if is_due or (was_asked and is_changed) else None


def clean_up_is_due(incident: Incident) -> Moment | None:
    at = incident.memory.clean_up_at
    has_failed = any(note.task is MaintenanceTask.CLEAN_UP for note in incident.memory.notes)
    return Moment(at, NextEvent.CLEANS_UP_AGAIN if has_failed else None) if at else None
