"""NodeChanges: passes each change of a Node to the watches of Nodes, the cluster state and the joins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from detector.context.lost_nodes_watch import LostNodesWatch
from detector.context.outage_watch import OutageWatch
from detector.state.cluster_state import ClusterState
from detector.watched_kind import TargetJoin
from health.model.node import Node
from health.model.target import TargetName
from health.policy.policy import CurrentPolicy


@dataclass(frozen=True, kw_only=True)
class NodeChanges:
    """Handles the changes of the Nodes of all clusters (`NodeHandler`)."""

    cluster_state: ClusterState
    outages: OutageWatch
    lost_nodes: LostNodesWatch
    joins: Sequence[TargetJoin]
    policy: CurrentPolicy
    refresh: Callable[[], None]
    """Makes the cluster context anew."""

    def node_changed(self, name: TargetName, node: Node | None) -> None:
        with self.cluster_state.guard.item("nodes", name.name):
            guard = self.policy().outage_guard
            have_vanished = self.lost_nodes.node_changed(name, guard, is_there=node is not None)
            is_lost = self.lost_nodes.is_lost(name)
            are_silent = self.outages.node_changed(name, node, guard, is_lost=is_lost)
            if have_vanished or are_silent:
                self.refresh()  # before handlers hear that the target failed
            self.cluster_state.target_changed(name, node)
            for join in self.joins:
                join.node_changed(name, node)

    def decoding_changed(self, name: TargetName, problem: str) -> None:
        with self.cluster_state.guard.item("nodes", name.name):
            self.cluster_state.targets.put_undecodable(name, problem)
            guard = self.policy().outage_guard
            if self.lost_nodes.decoding_changed(name, guard, is_undecodable=bool(problem)):
                self.refresh()
            for join in self.joins:
                join.node_decoding_changed(name)

    def expected_changed(self, name: TargetName, is_expected: bool) -> None:  # noqa: FBT001  as Handler
        """Judge a Node that a Machine expects from now on, or no longer."""
        guard = self.policy().outage_guard
        have_vanished = self.lost_nodes.expected_changed(name, guard, is_expected=is_expected)
        is_lost = self.lost_nodes.is_lost(name)
        if self.outages.lost_changed(name, guard, is_lost=is_lost) or have_vanished:
            self.refresh()

    def cluster_read(self, cluster: str) -> None:
        with self.cluster_state.guard.item("clusters", cluster):
            # Before the joins: the handlers of Machines ask whether missing Nodes are believed to be gone.
            self.refresh()
            for join in self.joins:
                join.cluster_read(cluster)

    def cluster_forgotten(self, cluster: str) -> None:
        with self.cluster_state.guard.item("clusters", cluster):
            self.outages.forget(cluster)
            for join in self.joins:
                join.cluster_forgotten(cluster)

    async def update_targets(self, cluster: str) -> None:
        for join in self.joins:
            await join.update_targets(cluster)
