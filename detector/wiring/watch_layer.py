"""The second layer: the feeds of the state, and the context of the whole cluster above them."""

from dataclasses import dataclass

from detector.context.cluster_notes import BLIND_TIMES, KNOWN_CLUSTERS, EarlierNotes, LeaseNotes, NoteLease
from detector.context.context import Context, context_of
from detector.feeds.feeds import FeedBuilder, Feeds, WatchScope
from detector.feeds.node_watch import BlindTime
from detector.feeds.workload_clusters import WorkloadAccess
from detector.upgrade.upgrade_pauses import PauseState
from detector.wiring.state_layer import StateLayer
from health.cluster.cluster_identity import KnownCluster
from objects.clusters import MANAGEMENT_CLUSTER
from runtime.connections import Connections
from runtime.process_names import LEADER_LEASE
from runtime.settings import Settings


@dataclass(frozen=True, kw_only=True)
class WatchLayer:
    """The parts that watch the cluster, in a leader and in a standby."""

    feeds: Feeds
    context: Context
    pause_state: PauseState
    blind_times: LeaseNotes[BlindTime]
    known_clusters: LeaseNotes[KnownCluster]


def watch_layer(state: StateLayer) -> WatchLayer:
    """Make the feeds and the context over this state."""
    connections = state.connections
    lease = NoteLease(
        connections.management.client, state.settings.namespace, LEADER_LEASE, connections.problems
    )
    blind_times, known_clusters = LeaseNotes(BLIND_TIMES, lease), LeaseNotes(KNOWN_CLUSTERS, lease)
    builder = FeedBuilder(
        connection=connections.management,
        cluster_state=state.cluster_state,
        policy=state.policy,
        kinds=state.kinds,
        handlers=state.handlers,
    )
    feeds = builder.build(watch_scope(state.settings, connections, blind_times))
    pause_state = PauseState(is_on=state.settings.upgrade_pause == "on")
    context = context_of(
        state.cluster_state,
        feeds,
        connections.management.server_clock,
        earlier=EarlierNotes(blind_times.of, known_clusters.of),
        pause_progress=pause_state.progress,
    )
    return WatchLayer(
        feeds=feeds,
        context=context,
        pause_state=pause_state,
        blind_times=blind_times,
        known_clusters=known_clusters,
    )


def watch_scope(
    settings: Settings, connections: Connections, blind_times: LeaseNotes[BlindTime]
) -> WatchScope:
    """The parts of the cluster that the settings name."""
    others = connections.workload_clusters
    skew = connections.management.server_clock.skew
    return WatchScope(
        settings.lease_namespace,
        settings.upgrade_signals,
        settings.check_kinds,
        WorkloadAccess(others.connect, others.close, blind_times.of, skew),
    )


async def watch(layer: WatchLayer, connections: Connections) -> None:
    """Read the notes of an earlier process, and then watch until cancelled."""
    await layer.blind_times.read()
    await layer.known_clusters.read()
    await layer.feeds.run(connections.problems, layer.blind_times.of(MANAGEMENT_CLUSTER))
