"""ClusterNotes: what this process notes about clusters for the next one, and what an earlier one noted.

The objects of the management cluster show its upgrades. But only the detector that lost a connection knows of
the loss, and a suspected outage leaves no trace once it is over. So the detector notes both on the leader
Lease (rule 37), beside the identity of each workload cluster.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import TypeAdapter

from detector.context.lost_nodes_watch import LostNodesWatch
from detector.context.outage_watch import OutageWatch
from detector.feeds.feeds import Feeds
from detector.feeds.lease_notes import NoteKind
from detector.feeds.node_watch import LOST, BlindTime
from health.cluster.cluster_identity import ANNOTATION, NOT_KNOWN, UNREADABLE, KnownCluster, changed_hold
from health.model.observation import Hold
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
_log = logging.getLogger(__name__)


class Confirmations(NamedTuple):
    """The annotations by which people confirm one workload cluster on its checks."""

    owner: str = ""
    """The uid of its Cluster."""
    uids: Collection[str] = ()
    """The uids that people confirmed."""


class ClusterIdentities:
    """The uid of each workload cluster, as first seen or confirmed by a person (rule 50)."""

    def __init__(self, noted: Callable[[str], KnownCluster]) -> None:
        self._noted = noted
        self._known: dict[str, KnownCluster] = {}
        self._holds: dict[str, Hold] = {}

    def see(self, uids: Mapping[str, str], confirmations: Mapping[str, Confirmations]) -> dict[str, Hold]:
        """Compare the uid of each cluster with the known one; returns the holds of clusters that differ."""
        before, self._holds = self._holds, {}
        for cluster, uid in uids.items():
            confirmed = confirmations.get(cluster, Confirmations())
            known = self._of(cluster).after(confirmed.owner, uid, confirmed.uids)
            self._known[cluster] = known
            if not known.is_one(confirmed.owner, uid):
                self._holds[cluster] = changed_hold(cluster, known, uid)
        for cluster in self._holds.keys() - before.keys():
            _log.warning("workload cluster changed", extra={"why": self._holds[cluster].message})
        return self._holds

    def take_noted(self) -> None:
        """Prefer the notes of the previous leader to what this process saw before it became the leader."""
        self._known = {
            cluster: known for cluster, known in self._known.items() if self._noted(cluster) == NOT_KNOWN
        }

    def _of(self, cluster: str) -> KnownCluster:
        return self._known[cluster] if cluster in self._known else self._noted(cluster)

    def lost(self, cluster: str) -> int:
        """Number of Nodes that an earlier process knew to be gone."""
        return self._noted(cluster).lost

    def notes(self, lost: Mapping[str, int]) -> dict[str, KnownCluster]:
        """The notes for the next process; `lost` is the number of Nodes known to be gone, by cluster."""
        changed = {cluster for cluster, number in lost.items() if number != self.lost(cluster)}
        return {
            cluster: self._of(cluster).model_copy(update={"lost": lost.get(cluster, self.lost(cluster))})
            for cluster in self._known.keys() | changed
        }


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
