"""The status that the demo remediator writes for each step. Pure: time is an argument."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from devcluster.simulation.remediation_decision import Begin, Fail, Succeed
from devcluster.simulation.remediation_request import (
    Condition,
    ConditionStatus,
    RemediationRequest,
    moved,
)
from kube.timestamps import timestamp


@dataclass(frozen=True)
class _Said:
    processing: ConditionStatus
    succeeded: ConditionStatus
    reason: str
    message: str


def status_patch(
    request: RemediationRequest, node: str, step: Begin | Succeed | Fail, now: datetime
) -> dict[str, Any]:
    """Build the merge patch of the status; it applies only to the version of the request that was read."""
    said = _said(node, step)
    said_now = (
        _condition("Processing", said.processing, said, now),
        _condition("Succeeded", said.succeeded, said, now),
    )
    shown = request.status.conditions
    conditions = [moved(shown, c).model_dump(by_alias=True) for c in said_now]
    status: dict[str, Any] = {"conditions": conditions}
    if isinstance(step, Begin):
        status["bootIDBefore"] = step.boot_id
    return {"metadata": {"resourceVersion": request.metadata.resource_version}, "status": status}


def _said(node: str, step: Begin | Succeed | Fail) -> _Said:
    match step:
        case Begin():
            return _Said("True", "Unknown", "PowerCycling", f"Switching {node} off and on.")
        case Succeed(boot_id=boot_id):
            return _Said("False", "True", "PowerCycled", f"{node} runs again, with boot ID {boot_id}.")
        case Fail(reason=reason, message=message):
            return _Said("False", "False", reason, message)


def _condition(type_: str, status: ConditionStatus, said: _Said, now: datetime) -> Condition:
    return Condition(
        type=type_,
        status=status,
        reason=said.reason,
        message=said.message,
        last_transition_time=timestamp(now),
    )
