"""Events about a Machine that was deleted or marked, or could not be, or that waits for back-off.

Texts are the reference's (A.1) where it has one.

The seed names the incident and its run: an attempt that is made again tells nothing twice.
"""

from health.announcement import Announcement, Severity
from health.lost_request import LostRequest
from health.openshift.event_words import REMEDIATE, RESTRICTED, path_of, restricted
from health.openshift.machine_target import MachineTarget
from health.remediation_request import Attempt


def deleted(attempt: Attempt, target: MachineTarget) -> Announcement:
    """That its deletion was asked for."""
    words = f"Machine {_named(attempt, target)} has been remediated by requesting to delete Machine object"
    return _told(attempt, Severity.NORMAL, "MachineDeleted", words)


def deletion_failed(attempt: Attempt, target: MachineTarget, why: str) -> Announcement:
    """That the API server refused to delete it."""
    words = f"Machine {_named(attempt, target)} remediation failed: unable to delete Machine object: {why}"
    return _told(attempt, Severity.WARNING, "MachineDeletionFailed", words)


def marked(attempt: Attempt, target: MachineTarget) -> Announcement:
    """That it was marked for external remediation."""
    words = _requesting(attempt, target)
    return _told(attempt, Severity.NORMAL, "ExternalAnnotationAdded", words)


def marking_failed(attempt: Attempt, target: MachineTarget, why: str) -> Announcement:
    """That the API server refused to mark it."""
    words = f"{_requesting(attempt, target)} failed: {why}"
    return _told(attempt, Severity.WARNING, "ExternalAnnotationFailed", words)


def request_lost(lost: LostRequest) -> Announcement:
    """That it waits, since somebody deleted its request."""
    path = path_of(lost.incident.check, lost.incident.target.name, lost.node_name)
    message = restricted(path, lost.words)
    return Announcement(lost.seed, Severity.NORMAL, RESTRICTED, message, action=REMEDIATE)


def _requesting(attempt: Attempt, target: MachineTarget) -> str:
    return f"Requesting external remediation of node associated with machine {_named(attempt, target)}"


def _named(attempt: Attempt, target: MachineTarget) -> str:
    return path_of(attempt.incident.check, target.metadata.name, target.node_name)


def _told(attempt: Attempt, severity: Severity, reason: str, message: str) -> Announcement:
    seed = f"{attempt.incident.workflow_id}\n{attempt.run_id}\n{reason}"
    return Announcement(seed, severity, reason, message, action=REMEDIATE)
