"""OutageWatch: which Nodes of each cluster and zone are silent, and whether what sees them is suspected.

A change of a Node costs the same however many there are: it moves one entry, and counts as a change of its
groups. What follows is judged once a second, and for changed groups alone; at once only where a Node that
falls silent may have been the one that makes an outage: where as many changed as were lacking when its group
was judged last. Else each of thousands would be judged with all others once the guard has given way. Nothing
is judged before the Nodes of a cluster were read completely. That an outage held, and when it ended, is noted
where a new process finds it (`BlindTimes`).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from detector.watching.node_watch import BlindTime
from health.gate.outage_guard import NO_OUTAGE, GroupOutage, NodeGroup, OutageGuard, Outages, lacking
from health.gate.policy_in_force import PolicyInForce
from health.model.node import Node
from health.model.target import TargetName

_log = logging.getLogger(__name__)


class _Seen(NamedTuple):
    """What matters of one Node."""

    zone: str
    unknown_since: datetime | None


@dataclass
class _Nodes:
    """The Nodes of one group."""

    outage: GroupOutage
    total: int = 0
    unknown: dict[str, datetime] = field(default_factory=dict)
    changes: int = 1
    """Since it was judged last."""
    lacking: int = 1
    """After how many of them there may be an outage."""
    due: datetime | None = None
    """When the passing of time alone may end what holds."""

    def add(self, name: str, unknown_since: datetime | None) -> None:
        self.total += 1
        self.changes += 1
        if unknown_since is not None:
            self.unknown[name] = unknown_since

    def remove(self, name: str) -> None:
        self.total -= 1
        self.changes += 1
        self.unknown.pop(name, None)

    def may_begin(self, guard: OutageGuard) -> bool:
        """Whether an outage is possible that nobody suspects yet; it is not certain."""
        if self.outage.suspected is not None or self.changes < self.lacking:
            return False
        return guard.are_enough(len(self.unknown), self.total)

    def is_due(self, now: datetime) -> bool:
        return self.changes > 0 or (self.due is not None and now >= self.due)


class OutageWatch:
    """All clusters of one detector."""

    def __init__(self, noted: Callable[[str], BlindTime], is_read: Callable[[str], bool]) -> None:
        """`noted` answers with what an earlier process noted of a group, by its key."""
        self._noted = noted
        self._is_read = is_read
        self._seen: dict[TargetName, _Seen] = {}
        self._groups: dict[NodeGroup, _Nodes] = {}
        self._guard: OutageGuard | None = None

    def node_changed(self, name: TargetName, node: Node | None, guard: OutageGuard | None) -> bool:
        """Take in what a Node is now; answers whether that has to be judged at once."""
        seen = None if node is None else _Seen(node.node_zone, node.silent_since)
        before = self._seen.get(name)
        if seen == before:
            return False
        for nodes in self._groups_of(name.cluster, before):
            nodes.remove(name.name)
        if seen is None:
            del self._seen[name]
            return False
        self._seen[name] = seen
        groups = self._groups_of(name.cluster, seen)
        for nodes in groups:
            nodes.add(name.name, seen.unknown_since)
        if guard is None or seen.unknown_since is None or not self._is_read(name.cluster):
            return False
        return any(nodes.may_begin(guard) for nodes in groups)

    def look(self, policy: PolicyInForce, now: datetime) -> Outages:
        """Judge what changed; answers with what is known of outages now.

        While nobody knows the policy nothing is judged: a guard that was not read is not one that is off.
        """
        if policy.is_known:
            self._judge_changed(policy.policy.outage_guard, now)
        known = {group: nodes.outage for group, nodes in self._groups.items()}
        return Outages({group: outage for group, outage in known.items() if outage != NO_OUTAGE})

    def _judge_changed(self, guard: OutageGuard | None, now: datetime) -> None:
        is_another = guard != self._guard
        self._guard = guard
        for group, nodes in self._groups.items():
            if (is_another or nodes.is_due(now)) and self._is_read(group.cluster):
                self._judge(group, nodes, now)

    def blind_times(self) -> dict[str, BlindTime]:
        """What a new process must know, by the key of each group."""
        return {
            group.key: BlindTime(until=nodes.outage.ended, is_lost=nodes.outage.is_suspected)
            for group, nodes in self._groups.items()
            # Nobody is judged by a cluster or a zone whose Nodes have all gone, and the note has its limits.
            if nodes.outage != NO_OUTAGE and nodes.total
        }

    def _groups_of(self, cluster: str, seen: _Seen | None) -> list[_Nodes]:
        """The groups that a Node is in that was seen so; None: it was not there."""
        if seen is None:
            return []
        return [self._group(NodeGroup(cluster, zone)) for zone in dict.fromkeys(("", seen.zone))]

    def _group(self, group: NodeGroup) -> _Nodes:
        if group not in self._groups:
            noted = self._noted(group.key)
            self._groups[group] = _Nodes(GroupOutage(None, noted.until, was_noted=noted.is_lost))
        return self._groups[group]

    def _judge(self, group: NodeGroup, nodes: _Nodes, now: datetime) -> None:
        before, guard = nodes.outage, self._guard
        after = before.after(guard, group, nodes.total, nodes.unknown.values(), now)
        nodes.outage, nodes.changes = after, 0
        if guard is not None:
            nodes.lacking = lacking(guard, nodes.total, nodes.unknown.values(), guard.given_way_until(now))
        nodes.due = after.gives_way
        _tell(group, before, after)


def _tell(group: NodeGroup, before: GroupOutage, after: GroupOutage) -> None:
    """Log what begins and what ends."""
    if after.suspected is not None and before.suspected is None:
        _log.warning("outage suspected", extra={"why": after.suspected.hold.message})
    elif before.is_suspected and not after.is_suspected:
        how = "ended" if after.ended != before.ended else "is held no longer"
        _log.warning("suspected outage is over", extra={"group": str(group), "how": how})
