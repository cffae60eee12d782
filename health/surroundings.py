"""Surroundings: what the cluster around all checks says, at one moment."""

from dataclasses import dataclass
from datetime import datetime

from health.global_stop import Stop
from health.machine_health_checks import MachineHealthChecks
from health.upgrade import NEVER_UPGRADED, Upgrade


@dataclass(frozen=True)
class Surroundings:
    """One value for the whole cluster; the default is a cluster in which nothing is the matter."""

    machine_health_checks: MachineHealthChecks = MachineHealthChecks.NONE
    upgrade: Upgrade = NEVER_UPGRADED
    stop: Stop | None = None

    @property
    def blind_until(self) -> datetime | None:
        """The end of the last time in which conditions of targets told nothing."""
        return self.upgrade.ended


CALM = Surroundings()
