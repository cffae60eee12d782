"""Context: the judgement of the cluster as a whole, above the feeds and below the answers."""

from collections.abc import Callable
from dataclasses import dataclass

from detector.context.clock_watch import ClockWatch
from detector.context.cluster_identities import ClusterIdentities
from detector.context.cluster_notes import ClusterNotes, EarlierNotes
from detector.context.context_assembly import ContextAssembly
from detector.context.lost_nodes_watch import LostNodesWatch
from detector.context.node_changes import NodeChanges
from detector.context.outage_watch import OutageWatch
from detector.context.sources_of_checks import SourcesOfChecks
from detector.feeds.feeds import Feeds
from detector.state.cluster_state import ClusterState
from health.cluster.pause_progress import PauseProgress
from kube.server_clock import ServerClock


@dataclass(frozen=True, kw_only=True)
class Context:
    """The parts that judge the cluster as a whole."""

    assembly: ContextAssembly
    notes: ClusterNotes
    clock: ClockWatch
    of_checks: SourcesOfChecks
    node_changes: NodeChanges

    def add_handlers(self, cluster_state: ClusterState, feeds: Feeds) -> None:
        """Have the cluster context made anew when a feed reads a change."""
        cluster_state.linked_nodes.add_handler(self.node_changes.expected_changed)
        feeds.handlers.add_node_handler(self.node_changes)
        feeds.handlers.add_context_handler(self.assembly.refresh)


def context_of(
    cluster_state: ClusterState,
    feeds: Feeds,
    server_clock: ServerClock,
    *,
    earlier: EarlierNotes,
    pause_progress: Callable[[], PauseProgress | None],
) -> Context:
    now = server_clock.now
    identities = ClusterIdentities(earlier.known_cluster)
    outages = OutageWatch(earlier.blind_time, feeds.is_read, now)
    lost_nodes = LostNodesWatch(identities.lost, feeds.were_notified, now)
    assembly = ContextAssembly(
        cluster_state=cluster_state,
        feeds=feeds,
        outages=outages,
        lost_nodes=lost_nodes,
        identities=identities,
        pause_progress=pause_progress,
        now=now,
    )
    clock = ClockWatch(server_clock, cluster_state.notify_all)
    return Context(
        assembly=assembly,
        notes=ClusterNotes(
            feeds=feeds,
            outages=outages,
            lost_nodes=lost_nodes,
            identities=identities,
            refresh=assembly.refresh,
        ),
        clock=clock,
        of_checks=SourcesOfChecks(cluster_state, feeds, clock.hold, assembly.refresh),
        node_changes=NodeChanges(
            cluster_state=cluster_state,
            outages=outages,
            lost_nodes=lost_nodes,
            joins=feeds.joins,
            policy=feeds.policy.current,
            refresh=assembly.refresh,
        ),
    )
