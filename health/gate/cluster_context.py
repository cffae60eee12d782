"""The cluster context: what holds for all checks at one moment, and why a check as a whole cannot work.

Status, Events and admission are made from this one value. It holds new requests and next steps; targets are
still counted, and what exists is cleaned up and marked (rules 7 and 17).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from health.gate.clock_skew import workload_clock_hold
from health.gate.cluster_upgrades import ClusterUpgrades
from health.gate.global_stop import Stop
from health.gate.outage_guard import NO_OUTAGES, Outages
from health.gate.pause_progress import PauseProgress
from health.gate.policy_in_force import NO_OBJECT, PolicyInForce
from health.gate.upgrade import NEVER_UPGRADED, Upgrade, gravest
from health.model.observation import Hold, HoldReason
from objects.group_kind import GroupKind


@dataclass(frozen=True)
class ClusterContext:
    """One value for the whole cluster; the default is a cluster in which nothing is the matter."""

    upgrade: Upgrade = NEVER_UPGRADED
    """Of this cluster, and of all that are managed from here."""
    stop: Stop | None = None
    upgrade_pause: PauseProgress | None = None
    """How far checks are paused for upgrades; None: nobody pauses any."""
    reconnected: Mapping[str, datetime] = field(default_factory=dict)
    """By cluster, the end of the last time in which the connection to it was lost."""
    unreachable: Mapping[str, str] = field(default_factory=dict)
    """By cluster, why its Nodes cannot be seen now."""
    clock_skews: Mapping[str, timedelta] = field(default_factory=dict)
    """By cluster, by how much its clock is ahead of the management cluster's, where that is too much."""
    distrusted: Mapping[str, Hold] = field(default_factory=dict)
    """By cluster, why what is seen of its Nodes is not believed (rule 50)."""
    back: Mapping[str, datetime] = field(default_factory=dict)
    """By cluster, when the connection to it was made anew, or came back after it was lost."""
    vanished: Mapping[str, datetime] = field(default_factory=dict)
    """By cluster, when the latest Node vanished that a Machine expects."""
    of_kinds: Mapping[GroupKind, Any] = field(default_factory=dict)
    """By kind of check, what matters to its checks alone, as the kind judges it."""
    cluster_upgrades: ClusterUpgrades = field(default_factory=ClusterUpgrades)
    """Of single clusters that are managed from here."""
    policy: PolicyInForce = NO_OBJECT
    """What is decided by."""
    outages: Outages = NO_OUTAGES
    """Where so many Nodes are, or were, silent that what sees them is suspected."""
    open_windows: frozenset[str] = frozenset()
    """The maintenance windows that were open at the last look: whoever decides looks for itself, but when
    they are others, whoever waits is to learn of it, also who was told of another hold before."""

    def upgrade_of(self, cluster: str) -> Upgrade:
        """What holds checks of a managed cluster, or of this one: the gravest that is known."""
        return gravest((self.upgrade, self.cluster_upgrades.of(cluster)))

    def upgrade_ended(self, cluster: str) -> datetime | None:
        """When the last upgrade ended that concerned the targets of a cluster."""
        return _latest(self.upgrade.ended, self.cluster_upgrades.of(cluster).ended)

    def blind_until(self, cluster: str, zone: str = "") -> datetime | None:
        """The end of the last time in which conditions of Nodes in a cluster, and its zone, told nothing."""
        outage_ended = self.outages.ended(cluster, zone)
        return _latest(self.upgrade_ended(cluster), self.reconnected.get(cluster), outage_ended)

    def gone_from(self, cluster: str) -> datetime | None:
        """Before when no Node of a cluster counts as gone; None: it does at once.

        A server may not have caught up right after a connection changed or was lost. While Nodes vanish one
        after the other, more may follow than are believed (rule 50).
        """
        known = (self.back.get(cluster), self.reconnected.get(cluster), self.outages.ended(cluster))
        latest, vanished = _latest(*known), self.vanished.get(cluster)
        after_a_loss = None if vanished is None else vanished + SETTLED_AFTER
        return _latest(None if latest is None else latest + GONE_AFTER, after_a_loss)

    def unreachable_hold(self, cluster: str) -> Hold | None:
        """Why nothing may be done to targets whose Nodes are in a cluster (rules 33 and 50)."""
        why, skew = self.unreachable.get(cluster), self.clock_skews.get(cluster)
        if cluster in self.distrusted:
            return self.distrusted[cluster]
        if why is not None:
            return workload_cluster_hold(cluster, why)
        return None if skew is None else workload_clock_hold(cluster, skew)


def _latest(*times: datetime | None) -> datetime | None:
    return max((time for time in times if time is not None), default=None)


UNREACHABLE_ASK_AGAIN_SECONDS = 10.0
GONE_AFTER = timedelta(minutes=1)
"""How long after a connection changed, or came back, no Node counts as gone."""

SETTLED_AFTER = timedelta(seconds=5)
"""How long after a Node vanished no Node of its cluster counts as gone: others may follow it."""


def workload_cluster_hold(cluster: str, why: str) -> Hold:
    """What it means that the Nodes of `cluster` cannot be seen."""
    return Hold(
        reason=HoldReason.WORKLOAD_CLUSTER_UNREACHABLE,
        message=f"the Nodes of the workload cluster {cluster} cannot be seen: {why}",
        ask_again_seconds=UNREACHABLE_ASK_AGAIN_SECONDS,
    )


@dataclass(frozen=True)
class CheckProblem:
    """Reason and message of the condition."""

    reason: str
    message: str

    @property
    def hold(self) -> Hold:
        """What it means for an incident of the check."""
        return Hold(reason=HoldReason.DISABLED, message=f"{self.reason}: {self.message}")
