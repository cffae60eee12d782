"""Events of a MachineHealthCheck about one Machine, once per failure (MHC A.1/event).

`DetectedUnhealthy` is for a Machine whose timer runs. A Machine that fails at once, without a timer, gets
the Event of its deletion or mark, or of their failure. `SkippedNoController` is for one whose time is over
and that has no controller to replace it. A Machine in back-off, or with another holder, gets
`RemediationRestricted`. Texts are those of the machine-api-operator where it has one.

The seed of an act's Event names the incident and its run, so a repeated attempt emits no second Event.
"""

from collections.abc import Iterator

from health.check.check_snapshot import TargetSnapshot
from health.gate.back_off import LostRequest
from health.kinds.machines.restriction import REMEDIATE, RESTRICTED, MachineNote, target_restrictions
from health.kinds.openshift.machine import MachineTarget
from health.model.observation import HoldReason
from health.model.references import CheckReference
from health.model.remediation_request import RemediationAttempt
from objects.event import Event, Severity


def machine_notes(
    check: CheckReference, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[MachineNote]:
    """The Events about an unhealthy Machine; `before` is None if nothing was reported about it."""
    path = path_of(check, after.name, after.node_name)
    if _has_timer(after) and not _is_known(after) and not (before and _have_one_fact(before, after)):
        message = f"Machine {path} has unhealthy node {after.node_name}"
        yield MachineNote("DetectedUnhealthy", message, "HealthCheck")
    if _is_skipped(after) and not (before and _is_skipped(before)):
        message = f"Machine {path} has no controller owner, skipping remediation"
        yield MachineNote("SkippedNoController", message)
    for hold, seed in target_restrictions(before, after):
        yield MachineNote(RESTRICTED, restricted(path, hold), seed=seed)


def _have_one_fact(before: TargetSnapshot, after: TargetSnapshot) -> bool:
    return before.verdict.fact is not None and before.verdict.fact.same_as(after.verdict.fact)


def _is_known(target: TargetSnapshot) -> bool:
    """True if the machine-api-operator already reported the failure and made a request."""
    return any(request.is_of_operator for request in target.requests)


def _has_timer(target: TargetSnapshot) -> bool:
    """True if a timer runs or has expired."""
    fact, deadline = target.verdict.fact, target.verdict.deadline
    return fact is not None and deadline is not None and deadline > fact.since


def _is_skipped(target: TargetSnapshot) -> bool:
    return target.hold is not None and target.hold.reason is HoldReason.NO_CONTROLLER


def path_of(check: CheckReference, machine: str, node: str) -> str:
    """The operator's name for a Machine: namespace, check, Machine and node, existing or not."""
    return f"{check.namespace}/{check.name}/{machine}/{node}"


def restricted(path: str, why: object) -> str:
    """The message for one held Machine; the operator has it for whole checks only (rules 13 and 14)."""
    return f"Machine {path} remediation restricted: {why}"


def deleted(attempt: RemediationAttempt, target: MachineTarget) -> Event:
    """The Event that its deletion was requested."""
    words = f"Machine {_named(attempt, target)} has been remediated by requesting to delete Machine object"
    return _told(attempt, Severity.NORMAL, "MachineDeleted", words)


def deletion_failed(attempt: RemediationAttempt, target: MachineTarget, why: str) -> Event:
    """The Event that the API server refused to delete it."""
    words = f"Machine {_named(attempt, target)} remediation failed: unable to delete Machine object: {why}"
    return _told(attempt, Severity.WARNING, "MachineDeletionFailed", words)


def marked(attempt: RemediationAttempt, target: MachineTarget) -> Event:
    """The Event that it was marked for external remediation."""
    words = _requesting(attempt, target)
    return _told(attempt, Severity.NORMAL, "ExternalAnnotationAdded", words)


def marking_failed(attempt: RemediationAttempt, target: MachineTarget, why: str) -> Event:
    """The Event that the API server refused to mark it."""
    words = f"{_requesting(attempt, target)} failed: {why}"
    return _told(attempt, Severity.WARNING, "ExternalAnnotationFailed", words)


def request_lost(lost: LostRequest) -> Event:
    """The Event that it waits because another actor deleted its request."""
    path = path_of(lost.incident.check, lost.incident.target.name, lost.node_name)
    message = restricted(path, lost.words)
    return Event(lost.seed, Severity.NORMAL, RESTRICTED, message, action=REMEDIATE)


def _requesting(attempt: RemediationAttempt, target: MachineTarget) -> str:
    return f"Requesting external remediation of node associated with machine {_named(attempt, target)}"


def _named(attempt: RemediationAttempt, target: MachineTarget) -> str:
    return path_of(attempt.incident.check, target.metadata.name, target.node_name)


def _told(attempt: RemediationAttempt, severity: Severity, reason: str, message: str) -> Event:
    seed = f"{attempt.incident.workflow_id}\n{attempt.run_id}\n{reason}"
    return Event(seed, severity, reason, message, action=REMEDIATE)
