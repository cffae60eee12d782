"""Surroundings: what the cluster around all checks says, at one moment."""

from dataclasses import dataclass
from datetime import datetime

from health.check_problem import CheckProblem
from health.global_stop import Stop
from health.node import Node
from health.nodehealthcheck.machine_health_check_conflict import CONFLICT, TERMINATING, MachineHealthChecks
from health.upgrade import NEVER_UPGRADED, Upgrade


@dataclass(frozen=True)
class Surroundings:
    """One value for the whole cluster; the default is a cluster in which nothing is the matter."""

    machine_health_checks: MachineHealthChecks = MachineHealthChecks.NONE
    upgrade: Upgrade = NEVER_UPGRADED
    stop: Stop | None = None

    @property
    def conflict(self) -> CheckProblem | None:
        """What disables every NodeHealthCheck."""
        is_conflicting = self.machine_health_checks is MachineHealthChecks.CONFLICTING
        return CONFLICT if is_conflicting else None

    @property
    def blind_until(self) -> datetime | None:
        """The end of the last time in which conditions of targets told nothing."""
        return self.upgrade.ended

    def leaves_to_others(self, node: Node) -> bool:
        """Whether `node` counts as healthy because a MachineHealthCheck looks after it (semantics 2.1/4)."""
        if self.machine_health_checks is not MachineHealthChecks.TERMINATING_ONLY:
            return False
        return any(condition.type == TERMINATING for condition in node.status.conditions)


CALM = Surroundings()
