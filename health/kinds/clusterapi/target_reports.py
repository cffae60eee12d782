"""The conditions of Machines that the detector writes for Cluster API (CAPI B.2.5, rules 29, 30, 45)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from health.check.target_report import TargetFindings, TargetReports
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.group import V1BETA1
from health.kinds.clusterapi.machine import EXTERNALLY_REMEDIATED, MachineTarget
from health.kinds.clusterapi.machine_conditions import (
    WAITING,
    DesiredConditions,
    desired_conditions,
    external,
    status_patch,
)
from health.kinds.clusterapi.object_conditions import Condition
from health.kinds.machines.request_problem import NOT_CREATED
from health.kinds.machines.status_conditions import StatusCondition


def _wanted(check: MachineHealthCheck, target: MachineTarget, findings: TargetFindings) -> DesiredConditions:
    return desired_conditions(check, target, findings.now, findings.context, _of_request(target, findings))


def _of_request(target: MachineTarget, findings: TargetFindings) -> StatusCondition | None:
    """The condition about its request; None while the incident of a refused one has not reported again."""
    found = external(findings.problem, findings.request_error)
    stored = target.machine.condition(EXTERNALLY_REMEDIATED)
    is_known_as_refused = stored is not None and stored.reason == NOT_CREATED
    return (
        None if findings.is_request_unreported and found.reason == WAITING and is_known_as_refused else found
    )


def _next_change(
    check: MachineHealthCheck, target: MachineTarget, findings: TargetFindings
) -> datetime | None:
    return check.next_deadline(target, findings.now, findings.context)


def _is_stored(desired: DesiredConditions, target: MachineTarget) -> bool:
    machine = target.machine
    is_old = machine.api_version == V1BETA1
    stored = {
        "apiVersion": machine.api_version,
        "metadata": {"generation": machine.metadata.generation},
        "status": {
            "conditions": [_as_written(condition, is_old=is_old) for condition in machine.status.conditions]
        },
    }
    # The time of the write is irrelevant here: only whether anything would be written.
    return not status_patch(stored, desired, target.metadata.creation_timestamp)


def _as_written(condition: Condition, *, is_old: bool) -> dict[str, Any]:
    """The condition as written; its severity is not stored, so ours is assumed."""
    of_form: dict[str, Any] = {"observedGeneration": condition.observed_generation}
    if is_old:
        of_form = {"severity": "Warning"} if condition.status != "True" else {}
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        **of_form,
    }


def _patch(desired: DesiredConditions, found: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    patch = status_patch(found, desired, now)
    return {"status": patch} if patch else {}


TARGET_REPORTS = TargetReports(_wanted, _next_change, _is_stored, _patch)
