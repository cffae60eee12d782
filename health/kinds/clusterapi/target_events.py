"""Events of a MachineHealthCheck about one Machine, once for each time that it fails (CAPI B.1).

`MachineMarkedUnhealthy` tells of one whose time is over and that nothing holds, so that it gets its mark or
request now, in the reference's words; that tells it anew on each of its passes. One that waits for back-off,
or that somebody else has, is told as `RemediationRestricted`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from health.gate.back_off import LostRequest
from health.gate.check_snapshot import TargetSnapshot
from health.kinds.clusterapi.machine import MachineTarget
from health.model.event import Event, Severity
from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference
from health.model.remediation_request import Attempt
from health.model.verdict import Health

MARKED_UNHEALTHY, RESTRICTED = "MachineMarkedUnhealthy", "RemediationRestricted"
REMEDIATE = "Remediate"
"""What an Event about a remediation says was being done."""
_TAKEN = frozenset({HoldReason.TAKEN, HoldReason.TAKEN_BY_REQUEST})


@dataclass(frozen=True)
class MachineNote:
    """What to tell of a Machine, always as Normal."""

    reason: str
    message: str
    seed: str = ""
    """Tells apart what may become so several times during one failure."""


def machine_notes(
    check: CheckReference, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[MachineNote]:
    """What became so of a Machine that is unhealthy; `before` is None where nobody was told of it."""
    if _is_remediated(after) and not (before is not None and _is_same_failure(before, after)):
        named = f"{check.namespace}/{after.name}"
        message = f"Machine {named} has been marked as unhealthy by {check.namespace}/{check.name}"
        yield MachineNote(MARKED_UNHEALTHY, message)
    for hold, seed in _restrictions(before, after):
        yield MachineNote(RESTRICTED, restricted(check.namespace, after.name, hold), seed)


def _is_remediated(target: TargetSnapshot) -> bool:
    is_held = any(hold is not None for hold in (target.hold, target.back_off, target.found))
    return target.verdict.health is Health.EXPIRED and not is_held


def _is_same_failure(before: TargetSnapshot, after: TargetSnapshot) -> bool:
    """Whether that was told before; another fact that makes it unhealthy is no other failure."""
    return _is_remediated(before) and before.uid == after.uid


def _restrictions(before: TargetSnapshot | None, after: TargetSnapshot) -> Iterator[tuple[Hold, str]]:
    """What begins to hold this Machine alone, and which of several times it is."""
    back_off = after.new_back_off(before)
    if back_off is not None:
        yield back_off, f"back-off {after.earlier_attempts}"
    taken, known = after.held_by(_TAKEN), before.held_by(_TAKEN) if before is not None else None
    if taken is not None and (known is None or known.reason is not taken.reason):
        yield taken, taken.reason


def restricted(namespace: str, machine: str, why: object) -> str:
    """That one Machine is held; the reference tells that of a whole check only (rules 13 and 14)."""
    return f"Machine {namespace}/{machine} remediation restricted: {why}"


def marking_failed(attempt: Attempt, target: MachineTarget, why: str) -> Event:
    """That the API server refused to mark it for its owner."""
    known = target.metadata
    message = restricted(known.namespace, known.name, f"it cannot be marked for its owner: {why}")
    seed = f"{attempt.incident.workflow_id}\n{attempt.run_id}\n{RESTRICTED}"
    return Event(seed, Severity.WARNING, RESTRICTED, message, action=REMEDIATE)


def request_lost(lost: LostRequest) -> Event:
    """That it waits, since somebody deleted its request."""
    target = lost.incident.target
    message = restricted(target.namespace, target.name, lost.words)
    return Event(lost.seed, Severity.NORMAL, RESTRICTED, message, action=REMEDIATE)
