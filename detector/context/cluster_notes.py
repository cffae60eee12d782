"""ClusterNotes: what this process notes about clusters for the next one, and what an earlier one noted.

The objects of the management cluster show its upgrades. But only the detector that lost a connection knows of
the loss, and a suspected outage leaves no trace once it is over. So the detector notes both on the leader
Lease (rule 37), beside the identity of each workload cluster.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import TypeAdapter

from detector.context.cluster_identities import ClusterIdentities
from detector.context.lost_nodes_watch import LostNodesWatch
from detector.context.outage_watch import OutageWatch
from detector.feeds.feeds import Feeds
from detector.feeds.lease_notes import NoteKind
from detector.feeds.node_watch import LOST, BlindTime
from health.cluster.cluster_identity import ANNOTATION, NOT_KNOWN, UNREADABLE, KnownCluster
from health.policy.outage_guard import is_group_key

BLIND_TIMES = NoteKind(
    part="blind times",
    annotation="paramedic.dev/blind-times",
    notes=TypeAdapter(dict[str, BlindTime]),
    nothing=BlindTime(),
    unreadable=LOST,
    is_kept=lambda key: not is_group_key(key),
)
"""Lost connections by cluster, and suspected outages by `NodeGroup.key`.

A note without an end ends when the detector that starts has read the cluster (ADR 21).
"""
KNOWN_CLUSTERS = NoteKind(
    part="known clusters",
    annotation=ANNOTATION,
    notes=TypeAdapter(dict[str, KnownCluster]),
    nothing=NOT_KNOWN,
    unreadable=UNREADABLE,
)


@dataclass(frozen=True)
class EarlierNotes:
    """The notes of an earlier process, as read from the leader Lease."""

    blind_time: Callable[[str], BlindTime] = lambda _: BlindTime()
    """Returns the note on a cluster, or on a group of Nodes."""
    known_cluster: Callable[[str], KnownCluster] = lambda _: NOT_KNOWN
    """Returns the note on the identity of this or another cluster."""


@dataclass(frozen=True, kw_only=True)
class ClusterNotes:
    """The notes that the leader writes for the next process."""

    feeds: Feeds
    outages: OutageWatch
    lost_nodes: LostNodesWatch
    identities: ClusterIdentities
    refresh: Callable[[], None]
    """Makes the cluster context anew."""

    def blind_times(self) -> dict[str, BlindTime]:
        """Lost connections by cluster, and suspected outages by group."""
        workloads = self.feeds.workloads
        known = workloads.blind_times() if workloads is not None else {}
        if self.feeds.policy.current().outage_guard:
            own_nodes = self.feeds.own_nodes.watch
            known[own_nodes.cluster] = own_nodes.blind_time
        return known | self.outages.blind_times()

    def known_clusters(self) -> dict[str, KnownCluster]:
        """The identity of clusters, and how many of their Nodes are gone."""
        return self.identities.notes(self.lost_nodes.believed())

    def take_noted_clusters(self) -> None:
        """Prefer the previous leader's notes on clusters."""
        self.identities.take_noted()
        self.refresh()
