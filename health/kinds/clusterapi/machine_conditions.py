"""The conditions that we write on a Machine (CAPI B.1, B.2.5, rules 29, 30 and 45).

- `HealthCheckSucceeded`: True on each healthy Machine, and False with all failures on each one whose time is
  over, whether or not it may be remediated. Absent while a timer runs or its Node was not read.
- `ExternallyRemediated`, for a check with a template: False while it is unhealthy, with the state of its
  request. The remediator then updates it: other reasons than ours, and True, are left alone until another
  failure begins. Our own reason is removed when the Machine is healthy again.
- `OwnerRemediated` asks the owner: set to False where it is absent or True, which means that no remediation
  has begun. The owner's answer is never overwritten or removed by us. The act that asks also writes the
  failure, because an owner needs both.

Each form of the list is judged separately, because an owner may know only one of them. The detector writes
them by `TARGET_REPORTS`, and the act that asks an owner writes its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from health.check.check_snapshot import TargetFindings, TargetReports
from health.check.template_validity import TEMPLATE_FORBIDDEN
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.conditions import conditions_patch
from health.kinds.clusterapi.group import V1BETA1
from health.kinds.clusterapi.machine import (
    EXTERNALLY_REMEDIATED,
    HEALTH_CHECK_SUCCEEDED,
    OWNER_REMEDIATED,
    MachineTarget,
)
from health.kinds.clusterapi.unhealthy import Failure
from health.kinds.machines.check import NOT_CREATED
from health.kinds.machines.conditions import Changes, StatusCondition, Stored
from health.model.stored_status import stored_condition, string
from objects.timestamps import as_time

WAITING, TEMPLATE_NOT_FOUND = "WaitingForRemediation", "RemediationTemplateNotFound"
_OF_TEMPLATE = frozenset({TEMPLATE_NOT_FOUND, "RemediationTemplateInvalid"})
"""Reasons of a check with a problem in its template."""
_OUR_WORDS = frozenset({WAITING, TEMPLATE_NOT_FOUND, TEMPLATE_FORBIDDEN, NOT_CREATED})
_HEALTHY = StatusCondition(type=HEALTH_CHECK_SUCCEEDED, status="True", reason=HEALTH_CHECK_SUCCEEDED)
_ASKED = StatusCondition(
    type=OWNER_REMEDIATED,
    status="False",
    reason=WAITING,
    message="Waiting for remediation",
    deprecated_message="",
)


@dataclass(frozen=True)
class DesiredConditions:
    """The conditions to write on one Machine; by default none."""

    succeeded: StatusCondition | None = None
    external: StatusCondition | None = None
    is_owner_asked: bool = False

    @property
    def is_unhealthy(self) -> bool:
        return self.succeeded is not None and self.succeeded.status == "False"

    def merged_with(self, other: "DesiredConditions") -> "DesiredConditions":
        """The conditions of a Machine that two checks select: a failure wins."""
        if other.is_unhealthy and not self.is_unhealthy:
            return other
        return other if self.succeeded is None else self


NOTHING = DesiredConditions()


_EXTERNAL = StatusCondition(
    type=EXTERNALLY_REMEDIATED, status="False", reason=WAITING, has_deprecated_twin=False
)


def external(problem: CheckProblem | None, request_error: str | None = None) -> StatusCondition:
    """The condition about a request, by the problem of its check and the latest refusal."""
    if problem is not None and problem.reason == TEMPLATE_FORBIDDEN:
        return replace(_EXTERNAL, reason=problem.reason, message=problem.message)
    if problem is not None and problem.reason in _OF_TEMPLATE:
        return replace(_EXTERNAL, reason=TEMPLATE_NOT_FOUND, message=problem.message)
    error = problem.message if problem is not None and problem.reason == NOT_CREATED else request_error
    return replace(_EXTERNAL, reason=NOT_CREATED, message=error) if error else _EXTERNAL


def desired_conditions(
    check: MachineHealthCheck,
    target: MachineTarget,
    now: datetime,
    context: ClusterContext,
    external: StatusCondition | None,
) -> DesiredConditions:
    """The conditions of `check` for `target`; `external` is the one about its request, None: leave it."""
    if (
        check.cluster_in(context) is None
        or check.is_fully_paused_in(context)
        or context.unreachable_hold(check.node_cluster(context))
    ):
        return NOTHING
    failed = check.failure(target, now, context)
    if failed is None:
        return DesiredConditions(_HEALTHY) if check.counts_as_healthy(target, context) else NOTHING
    if check.template is None or target.machine.is_going:
        return DesiredConditions(_failed(failed))
    return DesiredConditions(_failed(failed), external)


def asked_of_owner(failed: Failure) -> DesiredConditions:
    return DesiredConditions(_failed(failed), is_owner_asked=True)


def status_patch(machine: Mapping[str, Any], desired: DesiredConditions, now: datetime) -> dict[str, Any]:
    """The merge patch that writes the conditions into a Machine's status; empty if nothing would change."""
    return conditions_patch(
        machine.get("status") or {},
        lambda stored: _changes(stored, desired),
        api_version=machine["apiVersion"],
        generation=machine["metadata"].get("generation", 0),
        now=now,
    )


def _changes(stored: Stored, desired: DesiredConditions) -> Changes:
    wanted = [desired.succeeded] if desired.succeeded is not None else []
    if desired.external is not None and _may_report_remediation(stored):
        wanted.append(desired.external)
    asked = string(stored_condition(stored, OWNER_REMEDIATED), "status")
    if desired.is_owner_asked and asked in ("", "True"):
        wanted.append(_ASKED)
    is_healthy = desired.succeeded is not None and not desired.is_unhealthy
    gone = {EXTERNALLY_REMEDIATED} if is_healthy and _is_ours(stored) else set()
    return Changes(tuple(wanted), frozenset(gone))


def _may_report_remediation(stored: Stored) -> bool:
    """True if we may write ExternallyRemediated; a True older than the failure belongs to an earlier one."""
    remediation = stored_condition(stored, EXTERNALLY_REMEDIATED)
    if string(remediation, "status") != "True":
        return not remediation or _is_ours(stored)
    failure = stored_condition(stored, HEALTH_CHECK_SUCCEEDED)
    if string(failure, "status") != "False":
        return True
    failed, remediated = (as_time(found.get("lastTransitionTime")) for found in (failure, remediation))
    return failed is not None and remediated is not None and remediated < failed


def _is_ours(stored: Stored) -> bool:
    remediation = stored_condition(stored, EXTERNALLY_REMEDIATED)
    return string(remediation, "status") == "False" and string(remediation, "reason") in _OUR_WORDS


def _failed(failed: Failure) -> StatusCondition:
    return StatusCondition(
        type=HEALTH_CHECK_SUCCEEDED,
        status="False",
        reason=failed.reason,
        message=failed.message,
        deprecated_reason=failed.deprecated_reason,
        deprecated_message=failed.deprecated_message,
    )


def _wanted(check: MachineHealthCheck, target: MachineTarget, findings: TargetFindings) -> DesiredConditions:
    of_request = external(findings.problem, findings.request_error)
    stored = target.machine.condition(EXTERNALLY_REMEDIATED)
    is_known_as_refused = stored is not None and stored.reason == NOT_CREATED
    # The incident of a refused request may not have reported again yet.
    is_left = findings.is_request_unreported and of_request.reason == WAITING and is_known_as_refused
    return desired_conditions(check, target, findings.now, findings.context, None if is_left else of_request)


def _next_change(
    check: MachineHealthCheck, target: MachineTarget, findings: TargetFindings
) -> datetime | None:
    return check.next_deadline(target, findings.now, findings.context)


def _is_stored(desired: DesiredConditions, target: MachineTarget) -> bool:
    machine, conditions = target.machine, []
    for condition in machine.status.conditions:
        of_form: dict[str, Any] = {"observedGeneration": condition.observed_generation}
        if machine.api_version == V1BETA1:
            # The severity of a condition is not kept, so ours is assumed.
            of_form = {"severity": "Warning"} if condition.status != "True" else {}
        written = {"type": condition.type, "status": condition.status, "reason": condition.reason}
        conditions.append({**written, "message": condition.message, **of_form})
    stored = {
        "apiVersion": machine.api_version,
        "metadata": {"generation": machine.metadata.generation},
        "status": {"conditions": conditions},
    }
    # The time of the write is irrelevant here: only whether anything would be written.
    return not status_patch(stored, desired, target.metadata.creation_timestamp)


def _patch(desired: DesiredConditions, found: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    patch = status_patch(found, desired, now)
    return {"status": patch} if patch else {}


TARGET_REPORTS = TargetReports(_wanted, _next_change, _is_stored, _patch)
