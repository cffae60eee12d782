"""ClusterIdentities: the uid of each workload cluster, as first seen or confirmed by a person (rule 50)."""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from health.cluster.cluster_identity import NOT_KNOWN, KnownCluster, changed_hold
from health.model.observation import Hold

_log = logging.getLogger(__name__)


class Confirmations(NamedTuple):
    """The annotations by which people confirm one workload cluster on its checks."""

    owner: str = ""
    """The uid of its Cluster."""
    uids: Collection[str] = ()
    """The uids that people confirmed."""


class ClusterIdentities:
    """The identities of all workload clusters that this process has seen."""

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
