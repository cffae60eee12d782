"""Policy: the limits by which is decided whether an incident may act.

It may change while we run. So nobody keeps a number of it: whoever needs one asks for the policy anew.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from health.gate.held_nodes import NO_NODES, HeldNodes
from health.gate.limits import NO_LIMITS, Limits
from health.gate.maintenance_windows import MaintenanceWindow
from health.gate.outage_guard import OutageGuard


@dataclass(frozen=True)
class Policy:
    """The policy at one moment."""

    staleness_limit: timedelta = timedelta(seconds=30)
    """No act on a cluster state that was proven true so long ago."""
    back_off_limit: timedelta = timedelta(minutes=30)
    """The longest wait between two remediations of one target; zero: none."""
    shadow: bool = False
    """Whether nothing is written for any check."""
    outage_guard: OutageGuard | None = None
    """When what sees the Nodes is suspected in place of them; None: never."""
    limits: Limits = NO_LIMITS
    """How many remediations may be under way, and begin within an hour, those of all checks together."""
    maintenance_windows: tuple[MaintenanceWindow, ...] = ()
    """When remediations may begin, and when not."""
    held_nodes: HeldNodes = NO_NODES
    """Which Nodes are being worked on by others."""


DEFAULTS = Policy()
CurrentPolicy = Callable[[], Policy]
"""Answers with the policy as it is now."""
