"""Whether MachineHealthChecks of OpenShift get in the way of NodeHealthChecks (semantics 2.1/4).

The single one for the condition Terminating does not: Nodes that have a condition of that type, whatever its
status, are left to it. Any other disables every NodeHealthCheck.
"""

from health.check_problem import CheckProblem
from health.machine_health_checks import TERMINATING, MachineHealthChecks
from health.node import Node

CONFLICT = CheckProblem(
    reason="ConflictingMachineHealthCheckDetected",
    message="Custom MachineHealthCheck(s) detected, disabling NodeHealthCheck to avoid conflicts",
)


def conflict(found: MachineHealthChecks) -> CheckProblem | None:
    """What disables every NodeHealthCheck."""
    return CONFLICT if found is MachineHealthChecks.OTHERS else None


def is_left_to_others(node: Node, found: MachineHealthChecks) -> bool:
    """Whether `node` counts as healthy because a MachineHealthCheck looks after it."""
    if found is not MachineHealthChecks.TERMINATING_ONLY:
        return False
    return any(condition.type == TERMINATING for condition in node.status.conditions)
