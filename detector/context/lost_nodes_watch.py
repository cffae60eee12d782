"""LostNodesWatch: finds Nodes that Machines expect and that are gone, and whether many vanished together.

A change of a Node moves one entry. The watch judges each cluster once a second, and at once only where a Node
that vanishes may make it a suspected loss. It judges no cluster before its Nodes were read completely.

Nodes that were gone when this process began vanished at an unknown time. An earlier process noted how many
Nodes it believed to be gone. So many are believed; the others vanished while no detector ran (ADR 41).
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from health.cluster.lost_nodes import BELIEVED, SuspectedLoss, rule_of, still_suspected, suspected_loss
from health.model.observation import Hold
from health.model.target import TargetName
from health.policy.outage_guard import OutageGuard

_log = logging.getLogger(__name__)


LOOK_AGAIN = timedelta(seconds=1)
"""How old the time of the latest loss in the cluster context may be while Nodes vanish."""


@dataclass(kw_only=True)
class _Nodes:
    """The Nodes of one cluster: expected, existing, and lost."""

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
    believed: int = 0
    """Number of lost Nodes that are believed to be gone, as of the latest judgement."""

    def look_at(self, name: str, now: datetime) -> bool:
        """Update whether a Node is lost; returns whether it became lost now."""
        is_lost = name in self.expected and name not in self.there and name not in self.undecodable
        if not is_lost:
            self.lost.pop(name, None)
            return False
        is_new = name not in self.lost
        self.lost.setdefault(name, now)
        return is_new


class LostNodesWatch:
    """The lost Nodes of all clusters of one detector."""

    def __init__(
        self, believed: Callable[[str], int], is_read: Callable[[str], bool], now: Callable[[], datetime]
    ) -> None:
        """`believed` returns how many Nodes of a cluster an earlier process knew to be gone."""
        self._believed = believed
        self._is_read = is_read
        self._now = now
        self._clusters: defaultdict[str, _Nodes] = defaultdict(_Nodes)

    def node_changed(self, name: TargetName, guard: OutageGuard | None, *, is_there: bool) -> bool:
        """Note whether a decodable Node exists; returns whether its cluster has to be judged at once."""
        nodes = self._clusters[name.cluster]
        (nodes.there.add if is_there else nodes.there.discard)(name.name)
        return self._looked_at(name, guard)

    def decoding_changed(self, name: TargetName, guard: OutageGuard | None, *, is_undecodable: bool) -> bool:
        """Note whether a Node exists that does not decode; returns the same as `node_changed`."""
        nodes = self._clusters[name.cluster]
        (nodes.undecodable.add if is_undecodable else nodes.undecodable.discard)(name.name)
        return self._looked_at(name, guard)

    def expected_changed(self, name: TargetName, guard: OutageGuard | None, *, is_expected: bool) -> bool:
        """Note whether a Machine expects a Node; returns the same as `node_changed`."""
        nodes = self._clusters[name.cluster]
        (nodes.expected.add if is_expected else nodes.expected.discard)(name.name)
        return self._looked_at(name, guard)

    def _looked_at(self, name: TargetName, guard: OutageGuard | None) -> bool:
        nodes, now = self._clusters[name.cluster], self._now()
        if not nodes.look_at(name.name, now) or not self._is_read(name.cluster):
            return False
        nodes.vanished = now
        if nodes.shown is None or now - nodes.shown >= LOOK_AGAIN:
            return True
        return not nodes.suspected and rule_of(guard).are_enough(len(nodes.lost), len(nodes.expected))

    def is_lost(self, name: TargetName) -> bool:
        """True if a Machine expects the Node and the Node is known to be gone."""
        return self._is_read(name.cluster) and name.name in self._clusters[name.cluster].lost

    def lost_of(self, cluster: str) -> list[str]:
        """The names of the lost Nodes of a cluster."""
        return list(self._clusters[cluster].lost)

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
        if not nodes.was_judged:
            nodes.was_judged = True
            nodes.lost |= dict.fromkeys(sorted(nodes.lost)[: self._believed(cluster)], BELIEVED)
        before = nodes.suspected
        found = before or suspected_loss(rule_of(guard), cluster, len(nodes.expected), nodes.lost)
        nodes.suspected = still_suspected(found, nodes.lost, confirmed) if found else None
        if found and nodes.suspected is None:
            nodes.lost = dict.fromkeys(nodes.lost, BELIEVED)
        nodes.believed = len(nodes.lost) - len(nodes.suspected.names if nodes.suspected else ())
        _log_change(before, nodes.suspected)

    def vanished(self) -> dict[str, datetime]:
        """When each cluster lost its latest Node, if that was after the first complete read."""
        for nodes in self._clusters.values():
            nodes.shown = nodes.vanished
        return {cluster: nodes.shown for cluster, nodes in self._clusters.items() if nodes.shown is not None}

    def believed(self) -> dict[str, int]:
        """Number of Nodes that are believed to be gone, for each cluster that was judged.

        A cluster that no check names loses no Node: its Nodes are not read.
        """
        return {cluster: nodes.believed for cluster, nodes in self._clusters.items() if nodes.was_judged}


def _log_change(before: SuspectedLoss | None, after: SuspectedLoss | None) -> None:
    """Log the beginning and the end of a suspicion."""
    if after is not None and before is None:
        _log.warning("nodes vanished together", extra={"why": after.hold.message})
    elif before is not None and after is None:
        _log.warning("nodes that vanished together are back, or known to be gone")
