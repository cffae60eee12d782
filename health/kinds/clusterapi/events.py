"""Events of a MachineHealthCheck of Cluster API, in the words of its controller (CAPI B.1).

`MachineMarkedUnhealthy` reports a Machine whose time is over and that nothing holds, so that it gets its
mark or request now. The controller repeats the Event on each pass, and that of the threshold if a Machine
failed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from health.check.check_snapshot import TargetSnapshot
from health.kinds.clusterapi.machine import MachineTarget
from health.kinds.clusterapi.status import PAUSED
from health.kinds.machines.events import RESTRICTED, MachineEvents, MachineNote, of_act, restricted
from health.kinds.machines.threshold import held_message
from health.model.references import CheckReference
from health.model.remediation_request import RemediationAttempt
from health.model.stored_status import stored_condition
from health.model.verdict import Health
from objects.event import Event, Severity


def _path_of(check: CheckReference, machine: str, _node: str = "") -> str:
    return f"{check.namespace}/{machine}"


def _notes(
    check: CheckReference, before: TargetSnapshot | None, after: TargetSnapshot
) -> Iterator[MachineNote]:
    # Another fact of the same Machine is the same failure.
    if _is_remediated(after) and not (before is not None and _is_remediated(before)):
        path = _path_of(check, after.name)
        message = f"Machine {path} has been marked as unhealthy by {check.namespace}/{check.name}"
        yield MachineNote("MachineMarkedUnhealthy", message)


def _is_remediated(target: TargetSnapshot) -> bool:
    is_held = any(hold is not None for hold in (target.hold, target.back_off, target.found))
    return target.verdict.health is Health.EXPIRED and not is_held


def _was_paused(stored: Mapping[str, Any]) -> bool:
    return stored_condition(stored, PAUSED).get("status") == "True"


EVENTS = MachineEvents(
    path=_path_of,
    notes=_notes,
    exceeded=held_message,
    needs_failure=True,
    was_paused=_was_paused,
)


def marking_failed(attempt: RemediationAttempt, target: MachineTarget, why: str) -> Event:
    """The Event that the API server refused to mark it for its owner."""
    path = _path_of(attempt.incident.check, target.metadata.name)
    message = restricted(path, f"it cannot be marked for its owner: {why}")
    return of_act(attempt, Severity.WARNING, RESTRICTED, message)
