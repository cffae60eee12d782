"""The cluster context: the state that applies to all checks, and why a check as a whole cannot work.

Status, Events and admission use this one value. It holds new requests and next steps; targets are still
counted, and existing requests are still cleaned up and marked (rules 7 and 17).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from health.cluster.clock_skew import workload_clock_hold
from health.cluster.global_stop import Stop
from health.cluster.upgrade import NEVER_UPGRADED, ClusterUpgrades, PauseProgress, Signaller, Upgrade, gravest
from health.model.node import facts_of_node
from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference
from health.model.sighting import Gap, Restart, RestartCause
from health.model.target import Target
from health.policy.outage_guard import NO_LABELS, NO_OUTAGES, Outages
from health.policy.policy_in_force import NO_OBJECT, PolicyInForce
from objects.clusters import MANAGEMENT_CLUSTER
from objects.group_kind import GroupKind


@dataclass(frozen=True, kw_only=True)
class ClusterContext:
    """One value for the whole cluster; the default holds nothing."""

    upgrade: Upgrade = NEVER_UPGRADED
    """The upgrade of this cluster and of all clusters that are managed from here."""
    stop: Stop | None = None
    upgrade_pause: PauseProgress | None = None
    """The progress of pausing checks for upgrades; None: pausing is off."""
    lost: Mapping[str, tuple[Gap, ...]] = field(default_factory=dict)
    """By cluster, the losses of its connection; of the management cluster also the times without a leader."""
    unreachable: Mapping[str, str] = field(default_factory=dict)
    """By cluster, why its Nodes cannot be read now."""
    clock_skews: Mapping[str, timedelta] = field(default_factory=dict)
    """By cluster, how far its clock is ahead of the management cluster's, if too far."""
    distrusted: Mapping[str, Hold] = field(default_factory=dict)
    """By cluster, why the list of its Nodes is not believed (rule 50)."""
    back: Mapping[str, datetime] = field(default_factory=dict)
    """By cluster, when the connection was made or restored."""
    vanished: Mapping[str, datetime] = field(default_factory=dict)
    """By cluster, when the latest Node of a Machine vanished."""
    self_managed: frozenset[str] = frozenset()
    """The workload clusters that are this cluster itself, by the uid of kube-system."""
    refused_confirmations: Mapping[CheckReference, datetime] = field(default_factory=dict)
    """By check, the confirmation of lost Nodes that is in the future, or was when it was first read."""
    of_kinds: Mapping[GroupKind, Any] = field(default_factory=dict)
    """By kind of check, the context that only its checks use."""
    cluster_upgrades: ClusterUpgrades = field(default_factory=ClusterUpgrades)
    """Upgrades of single clusters that are managed from here."""
    policy: PolicyInForce = NO_OBJECT
    """The policy in force."""
    orders_over: frozenset[tuple[str, datetime]] = frozenset()
    """The orders to remediate that stand on targets and are over, by uid and when each was given."""
    outages: Outages = NO_OUTAGES
    """The suspected outages, present and past."""
    open_windows: frozenset[str] = frozenset()
    """The maintenance windows that were open at the last look. Each decision looks again; a change of this
    set wakes waiting incidents, regardless of their last hold."""

    def quorum_of(self, cluster: str) -> str:
        """The cluster whose members of a quorum take turns with those of `cluster`."""
        return MANAGEMENT_CLUSTER if cluster in self.self_managed else cluster

    def clusters_of(self, quorum: str) -> tuple[str, ...]:
        """The clusters whose members take turns with each other, by the result of `quorum_of`."""
        return (quorum, *self.self_managed) if quorum == MANAGEMENT_CLUSTER else (quorum,)

    def changed_clusters(self, before: "ClusterContext") -> frozenset[str] | None:
        """The clusters whose entries alone differ from those of `before`; None if anything else differs."""
        earlier = {name: getattr(before, name) for name in _BY_CLUSTER}
        if replace(self, **earlier, outages=before.outages) != before:
            return None
        changed = (getattr(self, name).items() ^ entries.items() for name, entries in earlier.items())
        in_fields = {cluster for entries in changed for cluster, _ in entries}
        return self.outages.changed_clusters(before.outages) | in_fields

    def changes_verdicts(self, kind: GroupKind, before: "ClusterContext") -> bool:
        """True if targets of checks of this kind may count otherwise than they did in `before`."""
        policy, policy_before = self.policy.policy, before.policy.policy
        is_other_kind = bool(self.of_kinds.get(kind) != before.of_kinds.get(kind))
        obeys = policy.orders_by_annotation, self.orders_over
        return is_other_kind or obeys != (policy_before.orders_by_annotation, before.orders_over)

    def upgrade_of(self, cluster: str, is_awaited: Callable[[Signaller], bool] | None = None) -> Upgrade:
        """The most severe known upgrade of a managed cluster or of this one.

        With `is_awaited` without that of the managed cluster if it waits for a target (rule 60).
        """
        return gravest((self.upgrade, self.cluster_upgrades.of(cluster, is_awaited)))

    def upgrade_ended(self, cluster: str) -> datetime | None:
        """When the last upgrade ended that affects the targets of a cluster."""
        return _latest(self.upgrade.ended, self.cluster_upgrades.of(cluster).ended)

    def restarts(
        self, cluster: str, node_labels: Mapping[str, str] = NO_LABELS, node: str | None = None
    ) -> tuple[Restart, ...]:
        """The moments from which timers of conditions of a Node of a cluster with these labels count anew."""
        outage_ended = self.outages.ended(cluster, node_labels, node)
        outages = () if outage_ended is None else (Restart(outage_ended, RestartCause.OUTAGE),)
        lost = self.lost.get(cluster, ()) if cluster != MANAGEMENT_CLUSTER else ()
        reconnected = (Restart.after(gap, RestartCause.CONNECTION) for gap in lost)
        return (*self.restarts_of_objects(cluster), *reconnected, *outages)

    def restarts_of_objects(self, cluster: str) -> tuple[Restart, ...]:
        """The same for conditions of objects of the management cluster that belong to a cluster."""
        ended = self.upgrade_ended(cluster)
        upgrades = () if ended is None else (Restart(ended, RestartCause.UPGRADE),)
        unwatched = self.lost.get(MANAGEMENT_CLUSTER, ())
        return (*upgrades, *(Restart.after(gap, RestartCause.UNWATCHED) for gap in unwatched))

    def restarts_of(self, target: Target) -> tuple[Restart, ...]:
        """The moments from which timers of conditions of the Node of `target` count anew."""
        of_cluster = self.restarts(
            target.node_cluster, facts_of_node(target).metadata.labels, target.node_name
        )
        return (*of_cluster, *self.restarts_by_owners(target))

    def restarts_by_owners(self, target: Target) -> tuple[Restart, ...]:
        """The moments at which owners stopped working on `target`, or will have taken too long (rule 59)."""
        ends = self.policy.policy.held_nodes.ends_on(target)
        return tuple(Restart(end, RestartCause.OWNER) for end in ends)

    def gone_from(self, cluster: str) -> datetime | None:
        """Before this time no missing Node of a cluster counts as gone; None: each does at once.

        A server may lag right after a connection was made or lost. While Nodes vanish one after the other,
        more may follow than are believed (rule 50).
        """
        moments = (self.back.get(cluster), self.outages.ended(cluster))
        latest, vanished = _latest(*moments), self.vanished.get(cluster)
        after_a_loss = None if vanished is None else vanished + SETTLED_AFTER
        return _latest(None if latest is None else latest + GONE_AFTER, after_a_loss)

    def unreachable_hold(self, cluster: str) -> Hold | None:
        """The hold of targets whose Nodes are in this cluster (rules 33 and 50)."""
        why, skew = self.unreachable.get(cluster), self.clock_skews.get(cluster)
        if cluster in self.distrusted:
            return self.distrusted[cluster]
        if why is not None:
            return workload_cluster_hold(cluster, why)
        return None if skew is None else workload_clock_hold(cluster, skew)


_BY_CLUSTER = ("lost", "unreachable", "clock_skews", "distrusted", "back", "vanished")
"""The fields of `ClusterContext` with an entry for each cluster."""


def _latest(*times: datetime | None) -> datetime | None:
    return max((time for time in times if time is not None), default=None)


UNREACHABLE_ASK_AGAIN_SECONDS = 10.0
GONE_AFTER = timedelta(minutes=1)
"""How long after a connection was made or restored no Node counts as gone."""

SETTLED_AFTER = timedelta(seconds=5)
"""How long after a Node vanished no Node of its cluster counts as gone, because more may follow."""


def workload_cluster_hold(cluster: str, why: str) -> Hold:
    return Hold(
        reason=HoldReason.WORKLOAD_CLUSTER_UNREACHABLE,
        message=f"the Nodes of the workload cluster {cluster} cannot be seen: {why}",
        ask_again_seconds=UNREACHABLE_ASK_AGAIN_SECONDS,
    )


@dataclass(frozen=True)
class CheckProblem:
    """Reason and message of the condition Disabled."""

    reason: str
    message: str

    @property
    def hold(self) -> Hold:
        return Hold(reason=HoldReason.DISABLED, message=f"{self.reason}: {self.message}")
