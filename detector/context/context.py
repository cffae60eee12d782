"""Context: the judgement of the cluster as a whole, above the feeds and below the answers.

It is the only place that makes a `ClusterContext` of a real cluster: of what the feeds read and the watches
of Nodes suspect.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime

from detector.context.clock_watch import ClockWatch
from detector.context.cluster_notes import ClusterIdentities, Confirmations
from detector.context.lost_nodes_watch import LostNodesWatch
from detector.context.outage_watch import OutageWatch
from detector.context.sources_of_checks import SourcesOfChecks
from detector.feeds.feeds import Feeds
from detector.feeds.node_watch import BlindTime
from detector.state.cluster_state import ClusterState
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.cluster.cluster_identity import KnownCluster
from health.cluster.lost_nodes import refused_confirmations
from health.cluster.upgrade import PauseProgress, Upgrade, UpgradePhase
from health.model.node import Node
from health.model.observation import Hold
from health.model.references import IncidentReference
from health.model.sighting import Sighting
from health.model.target import TargetName, node_name
from health.model.verdict import CountedFact
from health.policy.maintenance_windows import open_windows
from kube.server_clock import ServerClock
from objects.clusters import MANAGEMENT_CLUSTER, SecretField, is_of

UNJUDGED = ClusterContext(
    upgrade=Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="the cluster context cannot be judged")
)
"""Holds every check: facts that are not known must not be acted on (rule 3)."""


@dataclass(kw_only=True)
class Context:
    """Makes the cluster context of one detector, and puts it into the cluster state."""

    cluster_state: ClusterState
    feeds: Feeds
    server_clock: ServerClock
    blind_time: Callable[[str], BlindTime]
    """The note of an earlier process on a cluster or a group of Nodes."""
    known_cluster: Callable[[str], KnownCluster]
    """The note of an earlier process on the identity of a cluster."""
    pause_progress: Callable[[], PauseProgress | None]
    """How far checks are paused for upgrades; None: pausing is off."""

    def __post_init__(self) -> None:
        now = self.now = self.server_clock.now
        self.identities = ClusterIdentities(self.known_cluster)
        self.outages = OutageWatch(self.blind_time, self.feeds.is_read, now)
        self.lost_nodes = LostNodesWatch(self.identities.believed, self.feeds.were_notified, now)
        self.clock = ClockWatch(self.server_clock, self.cluster_state.notify_all)
        self.sources = SourcesOfChecks(self.cluster_state, self.feeds, self.clock.hold, self.refresh)
        self.node_changes = NodeChanges(
            cluster_state=self.cluster_state,
            feeds=self.feeds,
            outages=self.outages,
            lost_nodes=self.lost_nodes,
            began=now(),
            refresh=self.refresh,
        )

    def connect(self) -> None:
        """Have the cluster context made anew when a feed reads a change."""
        self.cluster_state.linked_nodes.add_handler(self.node_changes.expected_changed)
        self.feeds.handlers.connect(self.node_changes, self.refresh)

    def refresh(self) -> None:
        """Make the cluster context anew, and give it to the cluster state."""
        context = UNJUDGED
        with self.cluster_state.guard.item("cluster context", "cluster"):
            context = self._assembled()
        self.cluster_state.take_context(context)

    def _assembled(self) -> ClusterContext:
        # The feeds of the management cluster, and the clusters whose list of Nodes is not believed.
        read, now = self._read(), self.now()
        distrusted = self._distrusted(read)

        # The state of the connections to the clusters with Nodes.
        own, workloads = self.feeds.own_nodes, self.feeds.workloads
        limit = self.feeds.policy.current().staleness_limit
        lost = workloads.look(limit, distrusted.keys())
        own.look(limit, is_distrusted=MANAGEMENT_CLUSTER in distrusted)
        back = {} if own.back is None else {MANAGEMENT_CLUSTER: own.back}

        # The workload clusters that are this cluster, also while they cannot be reached.
        uids = {nodes.cluster: self.identities.uid(nodes.cluster) for nodes in workloads.watches}
        ours = frozenset(cluster for cluster, uid in uids.items() if is_of(self.cluster_state.cluster, uid))
        return replace(
            read,
            distrusted=distrusted,
            self_managed=ours,
            vanished=self.lost_nodes.vanished(),
            lost={**lost, MANAGEMENT_CLUSTER: own.blind_time.gaps},
            back=workloads.connected_anew() | back,
            unreachable=workloads.unreachable(limit),
            clock_skews=workloads.clock_skews(),
            outages=self.outages.look(read.policy, now),
            open_windows=open_windows(read.policy.policy.maintenance_windows, now),
            orders_over=self.cluster_state.orders_over(now),
        )

    def _read(self) -> ClusterContext:
        """The context as the feeds of the management cluster show it."""
        upgrade, cluster_upgrades = self.feeds.context.upgrades()
        confirmations = {
            reference: confirmed
            for reference, state in self.cluster_state.checks.items()
            if (confirmed := _confirmed_loss(state.check)) is not None
        }
        refused = self.cluster_state.cluster_context.refused_confirmations
        return ClusterContext(
            upgrade=upgrade,
            cluster_upgrades=cluster_upgrades,
            stop=self.feeds.context.stop(),
            of_kinds=self.feeds.context.of_kinds(),
            upgrade_pause=self.pause_progress(),
            policy=self.feeds.policy.look(),
            refused_confirmations=refused_confirmations(confirmations, refused, self.now()),
        )

    def _distrusted(self, read: ClusterContext) -> dict[str, Hold]:
        """By cluster, why the list of its Nodes is not believed; watches the clusters that checks name."""
        now = self.now()
        losses, wanted = dict[str, datetime](), dict[str, SecretField]()
        identities = dict[str, Confirmations]()
        for reference, check_state in self.cluster_state.checks.items():
            check, cluster = check_state.check, check_state.node_cluster_in(read)

            # The clusters whose Nodes checks judge, and the Secret field of each kubeconfig.
            kubeconfig = check_state.kind.kubeconfig
            if cluster != MANAGEMENT_CLUSTER and kubeconfig is not None:
                wanted[cluster] = kubeconfig(cluster)

            # The latest time up to which people confirmed losses of Nodes.
            confirmed = _confirmed_loss(check)
            if confirmed is not None and confirmed <= now and reference not in read.refused_confirmations:
                losses[cluster] = max(losses.get(cluster, confirmed), confirmed)

            # The identities of clusters that people confirmed.
            if check is not None:
                before = identities.get(cluster, Confirmations()).uids
                uids = {*before, check.choices.confirmed_cluster} - {""}
                identities[cluster] = Confirmations(check.owner_of_node_cluster(read), uids)

        distrusted = self.lost_nodes.look(read.policy.policy.outage_guard, losses)
        self.feeds.workloads.name(wanted, self.feeds.tasks)
        return distrusted | self.identities.see(self.feeds.workloads.uids(), identities)

    # The notes of this process for the next one, and those of the previous leader.

    def blind_times(self) -> dict[str, BlindTime]:
        """Lost connections by cluster, and suspected outages by group."""
        blind_times, own_nodes = self.feeds.workloads.blind_times(), self.feeds.own_nodes
        if own_nodes.blind_time != BlindTime():
            blind_times[own_nodes.cluster] = own_nodes.blind_time
        return blind_times | self.outages.blind_times()

    def take_noted_gaps(self) -> None:
        """Add the times without a leader that the previous leader noted about our own cluster."""
        for gap in self.blind_time(MANAGEMENT_CLUSTER).gaps:
            self.feeds.own_nodes.add_gap(gap)
        self.refresh()

    def known_clusters(self) -> dict[str, KnownCluster]:
        """The identity of clusters, and which of their Nodes are gone."""
        return self.identities.notes(self.lost_nodes.believed())

    def take_noted_clusters(self) -> None:
        """Prefer the previous leader's notes on clusters."""
        self.identities.take_noted()
        self.lost_nodes.take_noted()
        self.refresh()


def _confirmed_loss(check: HealthCheck | None) -> datetime | None:
    """The time up to which people confirmed losses of Nodes on the check."""
    return None if check is None else check.choices.confirmed_node_loss


@dataclass(frozen=True, kw_only=True)
class NodeChanges:
    """Handles the changes of the Nodes of all clusters (`NodeHandler`)."""

    cluster_state: ClusterState
    feeds: Feeds
    outages: OutageWatch
    lost_nodes: LostNodesWatch
    began: datetime
    """When this process began to look."""
    refresh: Callable[[], None]
    """Makes the cluster context anew."""

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        with self.cluster_state.guard.item("nodes", name.name):
            look = self.feeds.look_at_change(name.cluster)
            if node is not None and look is not None:
                node = node.seen_after(self._node(name), look)
            guard = self.feeds.policy.current().outage_guard
            have_vanished = self.lost_nodes.node_changed(name, guard, is_there=node is not None)
            is_lost = self.lost_nodes.is_lost(name)
            are_silent = self.outages.node_changed(name, node, guard, is_lost=is_lost)
            if have_vanished or are_silent:
                self.refresh()  # before handlers hear that the target failed
            self.put(name, node)

    def put(self, name: TargetName, node: Node | None) -> None:
        """Put a Node into the state as it is, with the sightings that it has."""
        self.cluster_state.target_changed(name, node)
        for join in self.feeds.joins:
            join.node_changed(name)

    def _node(self, name: TargetName) -> Node | None:
        found = self.cluster_state.targets.at(name.place).get(name.name)
        return found if isinstance(found, Node) else None

    def node_unmoved(self, name: TargetName, types: Collection[str], at: datetime) -> None:
        """Note that these conditions did not change at all over a short loss of the connection."""
        with self.cluster_state.guard.item("nodes", name.name):
            node = self._node(name)
            if node is None:
                return
            found = dict(node.sightings or {})
            for condition in node.status.conditions:
                if condition.type not in types:
                    continue
                since = node.since(condition)
                known = found.get(condition.type) or Sighting(since=since, seen=since)
                found[condition.type] = replace(known, unmoved_at=at)
            self.put(name, node.with_sightings(found))

    def count_on(self, incident: IncidentReference, counted: CountedFact) -> None:
        """Count a failure as its incident counted it, where this process has not seen its beginning."""
        with self.cluster_state.guard.item("sightings", incident.full_id):
            target = self.cluster_state.targets.get(incident.check, incident.target.name)
            is_same = target is not None and target.metadata.uid == incident.target.uid
            if target is None or not is_same or counted.as_of >= self.began:
                return
            name = node_name(target.node_name, target.node_cluster)
            node = self._node(name)
            if node is not None:
                self.put(name, counted.on(node, counted.fact.condition))
            for join in self.feeds.joins:
                join.count_on(TargetName.of(incident.target), counted)

    def decoding_changed(self, name: TargetName, problem: str) -> None:
        with self.cluster_state.guard.item("nodes", name.name):
            self.cluster_state.targets.put_undecodable(name, problem)
            guard = self.feeds.policy.current().outage_guard
            if self.lost_nodes.decoding_changed(name, guard, is_undecodable=bool(problem)):
                self.refresh()
            for join in self.feeds.joins:
                join.node_changed(name)

    def expected_changed(self, name: TargetName, is_expected: bool) -> None:  # noqa: FBT001  as Handler
        """Judge a Node that a Machine expects from now on, or no longer."""
        guard = self.feeds.policy.current().outage_guard
        have_vanished = self.lost_nodes.expected_changed(name, guard, is_expected=is_expected)
        is_lost = self.lost_nodes.is_lost(name)
        if self.outages.lost_changed(name, guard, is_lost=is_lost) or have_vanished:
            self.refresh()

    def cluster_read(self, cluster: str) -> None:
        with self.cluster_state.guard.item("clusters", cluster):
            # Before the joins: the handlers of Machines ask whether missing Nodes are believed to be gone.
            self.refresh()
            for join in self.feeds.joins:
                join.cluster_read(cluster)

    def cluster_forgotten(self, cluster: str) -> None:
        with self.cluster_state.guard.item("clusters", cluster):
            self.outages.forget(cluster)
            for join in self.feeds.joins:
                join.cluster_forgotten(cluster)

    async def update_targets(self, cluster: str) -> None:
        for join in self.feeds.joins:
            await join.update_targets(cluster)
