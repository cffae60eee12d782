"""The condition Disabled of a NodeHealthCheck (NHC 1.3), and MachineHealthChecks as its reason.

A single MachineHealthCheck for the condition Terminating does not disable NodeHealthChecks: Nodes that have
a condition of that type, with any status, are left to it. Any other MachineHealthCheck disables every
NodeHealthCheck (NHC 2.1/4).
"""

from dataclasses import dataclass

from health.check.check_snapshot import CheckSnapshot
from health.cluster.cluster_context import CheckProblem
from health.kinds.nodehealthcheck.machine_health_checks import TERMINATING, OtherChecks
from health.model.invalid_check import InvalidCheckError
from health.model.node import Node

CONFLICT = CheckProblem(
    reason="ConflictingMachineHealthCheckDetected",
    message="Custom MachineHealthCheck(s) detected, disabling NodeHealthCheck to avoid conflicts",
)


@dataclass(frozen=True)
class Disabled:
    """The status, reason and message of the condition Disabled."""

    is_disabled: bool
    reason: str
    message: str

    @property
    def event(self) -> str:
        """The message of the Event when the check becomes disabled (NHC 1.5)."""
        if self.reason == CONFLICT.reason:
            return self.message
        return f"Disabling NHC. Reason: {self.reason}, Message: {self.message}"


ENABLED = Disabled(
    is_disabled=False,
    reason="NodeHealthCheckEnabled",
    message="No issues found, NodeHealthCheck is enabled.",
)


def disabled(snapshot: CheckSnapshot) -> Disabled:
    """The problem that disables a check; ENABLED without one."""
    if isinstance(snapshot.check, InvalidCheckError):
        return Disabled(is_disabled=True, reason="InvalidSpec", message=str(snapshot.check))
    problem = snapshot.holds.problem
    if problem is not None:
        return Disabled(is_disabled=True, reason=problem.reason, message=problem.message)
    return ENABLED


def conflict(found: OtherChecks) -> CheckProblem | None:
    """The problem that disables every NodeHealthCheck; None without one."""
    return CONFLICT if found is OtherChecks.OTHERS else None


def is_left_to_others(node: Node, found: OtherChecks) -> bool:
    """True if `node` counts as healthy because a MachineHealthCheck handles it."""
    if found is not OtherChecks.TERMINATING_ONLY:
        return False
    return any(condition.type == TERMINATING for condition in node.status.conditions)
