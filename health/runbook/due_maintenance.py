"""Due maintenance: which maintenance task of an incident is due now, and when the next one is. Pure.

Maintenance goes on during any hold (rule 7): annotate requests, release the Lease when the remediation is
overdue, otherwise renew it. While only a timer runs nothing escalates: no remediator is asked to stop, and
only the Lease is renewed (NHC 2.1/13). While the state of the target is unknown, only the Lease is renewed
too. A request of an overdue remediation (`health.runbook.memory_parts`) is annotated as timed out and stays
until the target is healthy. Another check may act on the target only after the Lease is released. A task
that failed is not due before its next try.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from health.model.moves import AnnotationPatch, Phase
from health.model.observation import TargetState
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_LEASE
from health.runbook import annotations
from health.runbook.decision import Annotated, Decision, Maintenance, Moment, NextEvent, Reason
from health.runbook.incident import Incident
from health.runbook.maintenance import MaintenanceTask

Annotation = Callable[[RequestSnapshot, Incident], AnnotationPatch | None]
"""An annotation that is wanted on a request; None: it is written already, or not wanted."""


def maintained(decision: Decision, incident: Incident) -> Decision:
    """The first maintenance task that is due while requests exist, followed by `decision`."""
    is_known = incident.is_state_known
    if is_known and (annotated := due_annotations(incident)):
        return _first(annotated, Reason.MAINTAINED, decision, incident)
    if is_known and _is_release_due(incident):
        return _first(Maintenance.RELEASE_LEASE, Reason.OVERDUE, decision, incident)
    if _keeps_lease(incident) and incident.memory.lease.is_due(incident.now):
        return _first(Maintenance.RENEW_LEASE, Reason.MAINTAINED, decision, incident)
    return decision


def due_annotations(incident: Incident) -> Annotated | None:
    """The annotations that are due on the requests that stay."""
    due = tuple(
        patch
        for patch in _wanted(incident)
        if (MaintenanceTask.ANNOTATE, patch.subject) not in incident.put_off
    )
    return Annotated(due) if due else None


def grows_old(incident: Incident) -> Moment | None:
    """When the first request is to be flagged as old."""
    at = incident.grows_old_at if incident.is_state_known else None
    return Moment(at) if at else None


def lease_is_released(incident: Incident) -> Moment | None:
    """When the Lease is released because the remediation is overdue."""
    at, stop = incident.overdue_at, incident.stop_awaited_until
    if at is None or not _may_release(incident):
        return None
    if stop is not None and at < incident.now < stop:
        return Moment(stop, NextEvent.LEASE_IS_RELEASED)
    return Moment(at, NextEvent.LEASE_IS_RELEASED, is_passed=True)


def renewal(incident: Incident) -> Moment | None:
    """The renewal of the Lease while requests exist."""
    at = incident.memory.lease.renew_at
    return Moment(at) if at and _keeps_lease(incident) else None


def renewal_while_disrupted(incident: Incident) -> Moment | None:
    """The renewal of the Lease while a deletion or mark is in progress."""
    lease = incident.memory.lease
    return Moment(lease.renew_at) if lease.may_be_held and lease.renew_at else None


def renewal_after_recovery(incident: Incident) -> Moment | None:
    is_needed = incident.kept_requests or incident.observation.is_marked
    return renewal_while_disrupted(incident) if is_needed else None


def renew_while_disrupted(incident: Incident) -> Maintenance | None:
    lease = incident.memory.lease
    return Maintenance.RENEW_LEASE if lease.may_be_held and lease.is_due(incident.now) else None


def renew_after_recovery(incident: Incident) -> Maintenance | None:
    due = renewal_after_recovery(incident)
    return Maintenance.RENEW_LEASE if due is not None and incident.now >= due.at else None


def _first(act: Annotated | Maintenance, reason: Reason, decision: Decision, incident: Incident) -> Decision:
    """The act of a maintenance task, after which the incident goes on as `decision` says."""
    return replace(decision, phase=_phase(incident), reason=reason, act=act)


def _phase(incident: Incident) -> Phase:
    if not incident.is_state_known or incident.course.running is not None:
        return Phase.REMEDIATING
    return Phase.EXHAUSTED if incident.course.next_step is None else Phase.HELD


def _is_release_due(incident: Incident) -> bool:
    """True if the Lease is to be released; not before its remediator was asked to stop."""
    if not incident.is_overdue or not _may_release(incident):
        return False
    stop = incident.stop_awaited_until
    return stop is None or incident.now >= stop


def _may_release(incident: Incident) -> bool:
    is_put_off = (MaintenanceTask.CLEAN_UP, OF_LEASE) in incident.put_off
    return incident.memory.lease.may_be_held and not is_put_off


def _keeps_lease(incident: Incident) -> bool:
    is_over = incident.is_state_known and incident.course.is_exhausted
    is_held = bool(incident.observation.requests) and incident.memory.lease.may_be_held
    return is_held and not is_over and not incident.is_overdue


def _wanted(incident: Incident) -> Iterator[AnnotationPatch]:
    for request in incident.staying_requests:
        for annotation in _ANNOTATIONS:
            if patch := annotation(request, incident):
                yield patch


def _healthy(request: RequestSnapshot, incident: Incident) -> AnnotationPatch | None:
    delay = incident.delay
    is_stamped = incident.has_ended and delay.keeps_requests and not delay.is_for_good
    return annotations.healthy(request, incident.now) if is_stamped else None


def _unhealthy(request: RequestSnapshot, incident: Incident) -> AnnotationPatch | None:
    return None if incident.has_ended else annotations.unhealthy(request)


def _timed_out(request: RequestSnapshot, incident: Incident) -> AnnotationPatch | None:
    is_over = incident.is_overdue or incident.plan.is_over(request, incident.now)
    is_unhealthy = incident.observation.state is TargetState.EXPIRED
    return annotations.timed_out(request, incident.now) if is_over and is_unhealthy else None


def _adopted(request: RequestSnapshot, _: Incident) -> AnnotationPatch | None:
    return annotations.adopted(request)


def _old(request: RequestSnapshot, incident: Incident) -> AnnotationPatch | None:
    return annotations.old(request, incident.now)


_ANNOTATIONS: tuple[Annotation, ...] = (_adopted, _healthy, _timed_out, _unhealthy, _old)
"""Each annotation that may be due, in the order in which they are written on one request."""
