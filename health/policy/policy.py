"""Policy: the limits that decide whether an incident may act.

The policy may change at any time, so no component keeps a number of it: each decision reads the policy
again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from health.policy.held_nodes import NO_NODES, HeldNodes
from health.policy.limits import NO_LIMITS, Limits
from health.policy.maintenance_windows import MaintenanceWindow
from health.policy.outage_guard import OutageGuard
from health.policy.quorum import QuorumLabels
from health.policy.receivers import Receiver


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The values of the policy at one moment."""

    staleness_limit: timedelta = timedelta(seconds=30)
    """No act uses a cluster state that was last confirmed longer ago than this."""
    back_off_limit: timedelta = timedelta(minutes=30)
    """The longest wait between two remediations of one target; zero: no wait."""
    shadow: bool = False
    """Whether all checks are in shadow, so that nothing is written."""
    outage_guard: OutageGuard | None = None
    """When the monitoring is suspected instead of the Nodes; None: never."""
    limits: Limits = NO_LIMITS
    """How many remediations of all checks may be in progress, and begin within an hour."""
    maintenance_windows: tuple[MaintenanceWindow, ...] = ()
    """When remediations may begin."""
    held_nodes: HeldNodes = NO_NODES
    """The signs that a Node is under maintenance."""
    quorum_labels: QuorumLabels = ()
    """More labels of members of a quorum, beside those of the known distributions."""
    orders_by_annotation: bool = True
    """An annotation on a Node, Machine or check gives an order to its incidents; False: it is refused."""
    forced_orders: bool = False
    """An order to remediate may pass the threshold of its check; False: --force has no effect."""
    max_orders_in_flight: int = 1
    """How many remediations that people ordered may be in progress for one check."""
    notifications: tuple[Receiver, ...] = ()
    """The receivers of notifications about incidents."""


DEFAULTS = Policy()
CurrentPolicy = Callable[[], Policy]
"""Returns the policy in force now."""
