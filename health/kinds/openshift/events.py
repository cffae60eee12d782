"""Events of a MachineHealthCheck of OpenShift, in the words of the machine-api-operator (MHC A.1/event).

`DetectedUnhealthy` is for a Machine whose timer runs. A Machine that fails at once, without a timer, gets
the Event of its deletion or mark, or of their failure. `SkippedNoController` is for one whose time is over
and that has no controller to replace it. The activity that deletes or marks a Machine emits the Events about
it.
"""

from collections.abc import Iterator

from health.check.check_snapshot import TargetSnapshot
from health.check.threshold import Allowance
from health.kinds.machines.events import MachineEvents, MachineNote, of_act
from health.kinds.machines.threshold import Trigger, numbers
from health.kinds.openshift.machine import MachineTarget
from health.model.observation import HoldReason
from health.model.references import CheckReference
from health.model.remediation_request import RemediationAttempt
from objects.event import Event, Severity


def _path_of(check: CheckReference, machine: str, node: str) -> str:
    return f"{check.namespace}/{check.name}/{machine}/{node}"


def _notes(
    check: CheckReference, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[MachineNote]:
    path = _path_of(check, after.name, after.node_name)
    fact, deadline = after.verdict.fact, after.verdict.deadline
    has_timer = fact is not None and deadline is not None and deadline > fact.since
    # The machine-api-operator already reported a failure for which it made a request.
    is_known = any(request.is_of_operator for request in after.requests)
    earlier = before.verdict.fact if before is not None else None
    if has_timer and not is_known and not (earlier is not None and earlier.same_as(fact)):
        message = f"Machine {path} has unhealthy node {after.node_name}"
        yield MachineNote("DetectedUnhealthy", message, "HealthCheck")
    if _is_skipped(after) and not (before and _is_skipped(before)):
        message = f"Machine {path} has no controller owner, skipping remediation"
        yield MachineNote("SkippedNoController", message)


def _is_skipped(target: TargetSnapshot) -> bool:
    return target.hold is not None and target.hold.reason is HoldReason.NO_CONTROLLER


def _exceeded(decided: Allowance, trigger: Trigger) -> str:
    return f"Remediation restricted due to exceeded number of unhealthy machines {numbers(decided, trigger)}"


EVENTS = MachineEvents(path=_path_of, notes=_notes, exceeded=_exceeded)


def deleted(attempt: RemediationAttempt, target: MachineTarget) -> Event:
    """The Event that its deletion was requested."""
    words = f"Machine {_path(attempt, target)} has been remediated by requesting to delete Machine object"
    return of_act(attempt, Severity.NORMAL, "MachineDeleted", words)


def deletion_failed(attempt: RemediationAttempt, target: MachineTarget, why: str) -> Event:
    """The Event that the API server refused to delete it."""
    words = f"Machine {_path(attempt, target)} remediation failed: unable to delete Machine object: {why}"
    return of_act(attempt, Severity.WARNING, "MachineDeletionFailed", words)


def marked(attempt: RemediationAttempt, target: MachineTarget) -> Event:
    """The Event that it was marked for external remediation."""
    words = _requesting(attempt, target)
    return of_act(attempt, Severity.NORMAL, "ExternalAnnotationAdded", words)


def marking_failed(attempt: RemediationAttempt, target: MachineTarget, why: str) -> Event:
    """The Event that the API server refused to mark it."""
    words = f"{_requesting(attempt, target)} failed: {why}"
    return of_act(attempt, Severity.WARNING, "ExternalAnnotationFailed", words)


def _requesting(attempt: RemediationAttempt, target: MachineTarget) -> str:
    return f"Requesting external remediation of node associated with machine {_path(attempt, target)}"


def _path(attempt: RemediationAttempt, target: MachineTarget) -> str:
    return _path_of(attempt.incident.check, target.metadata.name, target.node_name)
