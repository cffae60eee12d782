"""What is said of a Machine in its conditions, and asked of its owner (CAPI B.1, B.2.5, rules 29, 30 and 45).

- `HealthCheckSucceeded`: True on every healthy one, False with all that failed on every one whose time is
  over, whether anything may be done about it or not. Nothing while a timer runs or its Node was not read.
- `ExternallyRemediated`, of a check with a template: False while it is unhealthy, with what became of its
  request. Whoever remediates goes on with it: other words than ours are left alone, and so is True, until
  another failure begins. Where it is healthy again, our own words go.
- `OwnerRemediated` asks its owner: False where it is absent or True, that is, where no remediation has begun.
  Whatever the owner says after that is never overwritten, and never removed by us. It is asked by whoever
  acts, with what failed beside it: an owner goes by both.

Each form of the list is judged by itself: an owner may know one of them only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from health.gate.cluster_context import CheckProblem, ClusterContext
from health.gate.template_validity import TEMPLATE_FORBIDDEN
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.machine import (
    EXTERNALLY_REMEDIATED,
    HEALTH_CHECK_SUCCEEDED,
    OWNER_REMEDIATED,
    MachineTarget,
)
from health.kinds.clusterapi.status_conditions import (
    Changes,
    StatusCondition,
    Stored,
    conditions_patch,
)
from health.kinds.clusterapi.unhealthy import Failure
from health.kinds.machines.request_problem import NOT_CREATED
from health.model.stored_status import stored_condition, string
from objects.timestamps import as_time

WAITING, TEMPLATE_NOT_FOUND = "WaitingForRemediation", "RemediationTemplateNotFound"
_OF_TEMPLATE = frozenset({TEMPLATE_NOT_FOUND, "RemediationTemplateInvalid"})
"""The reasons of a check whose template is to blame."""
_OUR_WORDS = frozenset({WAITING, TEMPLATE_NOT_FOUND, TEMPLATE_FORBIDDEN, NOT_CREATED})
_HEALTHY = StatusCondition(HEALTH_CHECK_SUCCEEDED, "True", HEALTH_CHECK_SUCCEEDED)
_ASKED = StatusCondition(OWNER_REMEDIATED, "False", WAITING, "Waiting for remediation", deprecated_message="")


@dataclass(frozen=True)
class DesiredConditions:
    """What is to be said of one Machine; nothing by default."""

    succeeded: StatusCondition | None = None
    external: StatusCondition | None = None
    is_owner_asked: bool = False

    @property
    def is_unhealthy(self) -> bool:
        """Whether its health check failed."""
        return self.succeeded is not None and self.succeeded.status == "False"

    def merged_with(self, other: "DesiredConditions") -> "DesiredConditions":
        """What is said of a Machine that two checks select: what failed wins."""
        if other.is_unhealthy and not self.is_unhealthy:
            return other
        return other if self.succeeded is None else self


NOTHING = DesiredConditions()


_EXTERNAL = StatusCondition(EXTERNALLY_REMEDIATED, "False", WAITING, has_deprecated_twin=False)


def external(problem: CheckProblem | None, request_error: str = "") -> StatusCondition:
    """What is to be said of a request, by why its check cannot work and why the latest one was refused."""
    if problem is not None and problem.reason == TEMPLATE_FORBIDDEN:
        return replace(_EXTERNAL, reason=problem.reason, message=problem.message)
    if problem is not None and problem.reason in _OF_TEMPLATE:
        return replace(_EXTERNAL, reason=TEMPLATE_NOT_FOUND, message=problem.message)
    error = problem.message if problem is not None and problem.reason == NOT_CREATED else request_error
    return replace(_EXTERNAL, reason=NOT_CREATED, message=error) if error else _EXTERNAL


def said_of(
    check: MachineHealthCheck,
    target: MachineTarget,
    now: datetime,
    context: ClusterContext,
    external: StatusCondition | None,
) -> DesiredConditions:
    """What `check` says of `target`; `external` is what there is to say of its request, None: nothing."""
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
    """That the owner of a Machine that failed so is to remediate it."""
    return DesiredConditions(_failed(failed), is_owner_asked=True)


def status_patch(machine: Mapping[str, Any], said: DesiredConditions, now: datetime) -> dict[str, Any]:
    """The merge patch that makes the status of a Machine, as it was read, say so; empty if it does."""
    return conditions_patch(
        machine.get("status") or {},
        lambda stored: _changes(stored, said),
        api_version=machine["apiVersion"],
        generation=machine["metadata"].get("generation", 0),
        now=now,
    )


def _changes(stored: Stored, said: DesiredConditions) -> Changes:
    wanted = [said.succeeded] if said.succeeded is not None else []
    if said.external is not None and _may_say(stored):
        wanted.append(said.external)
    if said.is_owner_asked and string(stored_condition(stored, OWNER_REMEDIATED), "status") in ("", "True"):
        wanted.append(_ASKED)
    is_healthy = said.succeeded is not None and not said.is_unhealthy
    gone = {EXTERNALLY_REMEDIATED} if is_healthy and _is_ours(stored) else set()
    return Changes(tuple(wanted), frozenset(gone))


def _may_say(stored: Stored) -> bool:
    """Whether ExternallyRemediated is ours to say; True that is older than the failure is of another one."""
    known = stored_condition(stored, EXTERNALLY_REMEDIATED)
    if string(known, "status") != "True":
        return not known or _is_ours(stored)
    failure = stored_condition(stored, HEALTH_CHECK_SUCCEEDED)
    if string(failure, "status") != "False":
        return True
    failed, remediated = as_time(failure.get("lastTransitionTime")), as_time(known.get("lastTransitionTime"))
    return failed is not None and remediated is not None and remediated < failed


def _is_ours(stored: Stored) -> bool:
    known = stored_condition(stored, EXTERNALLY_REMEDIATED)
    return string(known, "status") == "False" and string(known, "reason") in _OUR_WORDS


def _failed(failed: Failure) -> StatusCondition:
    return StatusCondition(
        HEALTH_CHECK_SUCCEEDED,
        "False",
        failed.reason,
        failed.message,
        deprecated_reason=failed.deprecated_reason,
        deprecated_message=failed.deprecated_message,
    )
