"""LostNodesWatch: finds Nodes that Machines expect and that are gone, and whether many vanished together.

A change of a Node moves one entry. The watch judges each cluster once a second, and at once only where a Node
that vanishes may make it a suspected loss. It judges no cluster before its Nodes were read completely.

Nodes that were gone when this process began vanished at an unknown time. An earlier process noted the names
of those that it believed to be gone; the others vanished while no detector ran (ADR 41).
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from health.cluster.cluster_identity import node_digest
from health.cluster.lost_nodes import (
    BELIEVED,
    SuspectedLoss,
    after_confirmation,
    rule_of,
    still_suspected,
    suspected_loss,
)
from health.model.observation import Hold
from health.model.target import TargetName
from health.policy.outage_guard import OutageGuard

_log = logging.getLogger(__name__)


LOOK_AGAIN = timedelta(seconds=1)
"""How old the time of the latest loss in the cluster context may be while Nodes vanish."""


@dataclass(kw_only=True)
class _Nodes:
    """The Nodes of one cluster: expected, existing, and lost."""

    noted: set[str]
    """Those that an earlier process believed to be gone, until they are seen here; by `node_digest`."""
    expected: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)
    undecodable: set[str] = field(default_factory=set)
    """Nodes that exist and do not decode."""
    lost: dict[str, datetime] = field(default_factory=dict)
    vanished: datetime | None = None
    """When the latest Node was lost after the first complete read."""
    shown: datetime | None = None
    """`vanished` as of the last look."""
    suspected: SuspectedLoss | None = None
    was_judged: bool = False
    believed: frozenset[str] = frozenset()
    """The lost Nodes that are believed to be gone, as of the latest judgement."""

    def look_at(self, name: str, now: datetime) -> bool:
        """Update whether a Node is lost; returns whether it became lost now."""
        exists = name in self.there or name in self.undecodable
        if exists and self.noted:
            self.noted.discard(node_digest(name))
        if exists or name not in self.expected:
            self.lost.pop(name, None)
            return False
        if name in self.lost:
            return False
        is_noted = bool(self.noted) and node_digest(name) in self.noted
        self.lost[name] = BELIEVED if is_noted else now
        return not is_noted


class LostNodesWatch:
    """The lost Nodes of all clusters of one detector."""

    def __init__(
        self,
        noted: Callable[[str], Collection[str]],
        is_read: Callable[[str], bool],
        now: Callable[[], datetime],
    ) -> None:
        """`noted` returns the Nodes of a cluster that an earlier process knew to be gone, by digest."""
        self._noted = noted
        self._is_read = is_read
        self._now = now
        self._clusters: dict[str, _Nodes] = {}

    def take_noted(self) -> None:
        """Believe the losses that the previous leader believed, for which people may have confirmed them."""
        for cluster, nodes in self._clusters.items():
            noted = set(self._noted(cluster))
            nodes.lost |= {name: BELIEVED for name in nodes.lost if node_digest(name) in noted}

    def _of(self, cluster: str) -> _Nodes:
        if cluster not in self._clusters:
            self._clusters[cluster] = _Nodes(noted=set(self._noted(cluster)))
        return self._clusters[cluster]

    def node_changed(self, name: TargetName, guard: OutageGuard | None, *, is_there: bool) -> bool:
        """Note whether a decodable Node exists; returns whether its cluster has to be judged at once."""
        nodes = self._of(name.cluster)
        (nodes.there.add if is_there else nodes.there.discard)(name.name)
        return self._looked_at(name, guard)

    def decoding_changed(self, name: TargetName, guard: OutageGuard | None, *, is_undecodable: bool) -> bool:
        """Note whether a Node exists that does not decode; returns the same as `node_changed`."""
        nodes = self._of(name.cluster)
        (nodes.undecodable.add if is_undecodable else nodes.undecodable.discard)(name.name)
        return self._looked_at(name, guard)

    def expected_changed(self, name: TargetName, guard: OutageGuard | None, *, is_expected: bool) -> bool:
        """Note whether a Machine expects a Node; returns the same as `node_changed`."""
        nodes = self._of(name.cluster)
        (nodes.expected.add if is_expected else nodes.expected.discard)(name.name)
        return self._looked_at(name, guard)

    def _looked_at(self, name: TargetName, guard: OutageGuard | None) -> bool:
        nodes, now = self._of(name.cluster), self._now()
        if not nodes.look_at(name.name, now) or not self._is_read(name.cluster):
            return False
        nodes.vanished = now
        if nodes.shown is None or now - nodes.shown >= LOOK_AGAIN:
            return True
        return not nodes.suspected and rule_of(guard).are_enough(len(nodes.lost), len(nodes.expected))

    def is_lost(self, name: TargetName) -> bool:
        """True if a Machine expects the Node and the Node is known to be gone."""
        return self._is_read(name.cluster) and name.name in self._of(name.cluster).lost

    def look(self, guard: OutageGuard | None, confirmed: Mapping[str, datetime]) -> dict[str, Hold]:
        """Judge each cluster; returns the holds of clusters whose lost Nodes are not believed to be gone.

        `confirmed` has, by cluster, the time up to which a person confirmed the losses.
        """
        for cluster, nodes in self._clusters.items():
            if self._is_read(cluster):
                self._judge(cluster, nodes, guard, confirmed.get(cluster))
        return {cluster: nodes.suspected.hold for cluster, nodes in self._clusters.items() if nodes.suspected}

    def _judge(
        self, cluster: str, nodes: _Nodes, guard: OutageGuard | None, confirmed: datetime | None
    ) -> None:
        nodes.was_judged = True
        if confirmed is not None:
            nodes.lost = after_confirmation(nodes.lost, confirmed)
        rule, before = rule_of(guard), nodes.suspected
        goes_on = still_suspected(rule, before, nodes.lost) if before else None
        nodes.suspected = goes_on or suspected_loss(rule, cluster, len(nodes.expected), nodes.lost)
        # Those that vanished during the suspicion may be another one, which is judged when this one is over.
        after, began = nodes.suspected, nodes.suspected.began if nodes.suspected else None
        nodes.believed = frozenset(name for name, at in nodes.lost.items() if began is None or at < began)
        if after is not None and before is None:
            _log.warning("nodes vanished together", extra={"why": after.hold.message})
        elif before is not None and after is None:
            _log.warning("nodes that vanished together are back, or known to be gone")

    def vanished(self) -> dict[str, datetime]:
        """When each cluster lost its latest Node, if that was after the first complete read."""
        for nodes in self._clusters.values():
            nodes.shown = nodes.vanished
        return {cluster: nodes.shown for cluster, nodes in self._clusters.items() if nodes.shown is not None}

    def believed(self) -> dict[str, frozenset[str]]:
        """The names of Nodes that are believed to be gone, for each cluster that was judged.

        A cluster that no check names loses no Node: its Nodes are not read.
        """
        return {cluster: nodes.believed for cluster, nodes in self._clusters.items() if nodes.was_judged}
