"""Events of a MachineHealthCheck about one Machine, once per failure (CAPI B.1).

`MachineMarkedUnhealthy` reports a Machine whose time is over and that nothing holds, so that it gets its
mark or request now. The words are those of Cluster API's controller, which repeats the Event on each pass. A
Machine that waits for back-off, or that another holder has, gets `RemediationRestricted`.
"""

from collections.abc import Iterator

from health.check.check_snapshot import TargetSnapshot
from health.gate.back_off import LostRequest
from health.kinds.clusterapi.machine import MachineTarget
from health.kinds.machines.restriction import REMEDIATE, RESTRICTED, MachineNote, target_restrictions
from health.model.references import CheckReference
from health.model.remediation_request import RemediationAttempt
from health.model.verdict import Health
from objects.event import Event, Severity

MARKED_UNHEALTHY = "MachineMarkedUnhealthy"


def machine_notes(
    check: CheckReference, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[MachineNote]:
    """The Events about an unhealthy Machine; `before` is None if nothing was reported about it."""
    if _is_remediated(after) and not (before is not None and _is_same_failure(before, after)):
        named = f"{check.namespace}/{after.name}"
        message = f"Machine {named} has been marked as unhealthy by {check.namespace}/{check.name}"
        yield MachineNote(MARKED_UNHEALTHY, message)
    for hold, seed in target_restrictions(before, after):
        yield MachineNote(RESTRICTED, restricted(check.namespace, after.name, hold), seed=seed)


def _is_remediated(target: TargetSnapshot) -> bool:
    is_held = any(hold is not None for hold in (target.hold, target.back_off, target.found))
    return target.verdict.health is Health.EXPIRED and not is_held


def _is_same_failure(before: TargetSnapshot, after: TargetSnapshot) -> bool:
    """True if the failure was already reported; another fact of the same Machine is the same failure."""
    return _is_remediated(before) and before.uid == after.uid


def restricted(namespace: str, machine: str, why: object) -> str:
    """The message for one held Machine (rules 13 and 14).

    Cluster API's controller has it for whole checks only.
    """
    return f"Machine {namespace}/{machine} remediation restricted: {why}"


def marking_failed(attempt: RemediationAttempt, target: MachineTarget, why: str) -> Event:
    """The Event that the API server refused to mark it for its owner."""
    known = target.metadata
    message = restricted(known.namespace, known.name, f"it cannot be marked for its owner: {why}")
    seed = f"{attempt.incident.workflow_id}\n{attempt.run_id}\n{RESTRICTED}"
    return Event(seed, Severity.WARNING, RESTRICTED, message, action=REMEDIATE)


def request_lost(lost: LostRequest) -> Event:
    """The Event that it waits because another actor deleted its request."""
    target = lost.incident.target
    message = restricted(target.namespace, target.name, lost.words)
    return Event(lost.seed, Severity.NORMAL, RESTRICTED, message, action=REMEDIATE)
