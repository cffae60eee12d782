"""OutageWatch: finds silent Nodes by cluster and domain, and suspects an outage of the path to them.

A change of a Node moves one entry and counts as a change of its groups, so its cost does not grow with their
number. A lost Node counts as silent while a Machine expects it. A Node that was deleted while silent counts
while another Node of its cluster is silent, so a controller that deletes silent Nodes does not end an outage.

Changed groups are judged once a second. A group is judged at once only if a Node falls silent after as many
changes as were lacking for an outage at the last judgement: else every one of thousands of silent Nodes would
be judged with all others after the guard has given way. A cluster is not judged before its Nodes were read
completely. The state and the end of outages are noted for the next process (`BLIND_TIMES`).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from detector.feeds.node_watch import BlindTime
from health.model.node import Node
from health.model.target import TargetName, node_name
from health.policy.outage_guard import (
    NO_LABELS,
    NO_OUTAGE,
    GroupOutage,
    NodeGroup,
    OutageGuard,
    Outages,
    groups_of,
    lacking,
)
from health.policy.policy_in_force import PolicyInForce

_log = logging.getLogger(__name__)


class _NodeEntry(NamedTuple):
    """The values of one Node that matter for outages."""

    labels: Mapping[str, str]
    """Its labels; the last ones of a Node that is gone."""
    unknown_since: datetime | None
    """When it fell silent or vanished; None while it reports."""
    is_gone: bool = False
    is_lost: bool = False
    """Whether a Machine still expects it."""
    was_silent: bool = False
    """Whether it was silent when it vanished."""
    is_relabelled: bool = False
    """True if its labels changed while it is silent; `labels` are those of the time before."""


@dataclass(kw_only=True)
class _Nodes:
    """The Nodes of one group, and the outage of the group."""

    label: str | None
    outage: GroupOutage
    total: int = 0
    unknown: dict[str, datetime] = field(default_factory=dict)
    changes: int = 1
    """Number of changes since the last judgement."""
    lacking: int = 1
    """Number of changes after which an outage is possible."""
    due: datetime | None = None
    """When the current outage may end without a change."""

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
        """True if an outage is possible, but not certain, and not suspected yet."""
        if self.outage.suspected is not None or self.changes < self.lacking:
            return False
        return guard.are_enough(len(self.unknown), self.total, self.label)

    def is_due(self, now: datetime) -> bool:
        return self.changes > 0 or (self.due is not None and now >= self.due)


class OutageWatch:
    """The Nodes of all clusters of one detector."""

    def __init__(
        self,
        noted: Callable[[str], BlindTime],
        is_read: Callable[[str], bool],
        now: Callable[[], datetime],
    ) -> None:
        """`noted` returns the note of an earlier process on a group, by its key."""
        self._noted = noted
        self._is_read = is_read
        self._now = now
        self._entries: dict[TargetName, _NodeEntry] = {}
        self._kept: set[TargetName] = set()
        """The Nodes that are gone or relabelled, which count by their last labels."""
        self._groups: dict[NodeGroup, _Nodes] = {}
        self._groups_of: dict[TargetName, tuple[NodeGroup, ...]] = {}
        self._guard: OutageGuard | None = None
        """As of the last judgement."""

    def node_changed(
        self, name: TargetName, node: Node | None, guard: OutageGuard | None, *, is_lost: bool = False
    ) -> bool:
        """Store the current state of a Node; returns whether its groups have to be judged at once.

        `is_lost`: it is gone, and a Machine expects it.
        """
        if node is None:
            return self._put(name, self._gone(name, is_lost=is_lost), guard)
        labels, before = node.metadata.labels, self._entries.get(name)
        silent_since, was_silent = node.silent_since, before is not None and before.unknown_since is not None
        if before is None or not was_silent or silent_since is None or before.labels == labels:
            return self._put(name, _NodeEntry(labels, silent_since), guard)
        # An edit of its labels is no sign of life: it stays in the domains in which it fell silent.
        return self._put(name, _NodeEntry(before.labels, silent_since, is_relabelled=True), guard)

    def lost_changed(self, name: TargetName, guard: OutageGuard | None, *, is_lost: bool) -> bool:
        """Store whether a Machine expects a missing Node; returns the same as `node_changed`."""
        before = self._entries.get(name)
        if before is not None and not before.is_gone:
            return False
        return self._put(name, self._gone(name, is_lost=is_lost), guard)

    def forget(self, cluster: str) -> None:
        """Forget the Nodes of a cluster that no check names any more."""
        for name in [name for name in self._entries if name.cluster == cluster]:
            self._put(name, None, None)

    def _gone(self, name: TargetName, *, is_lost: bool) -> _NodeEntry | None:
        """The entry of a missing Node; None if it no longer counts."""
        before = self._entries.get(name)
        if before is None:
            return _NodeEntry(NO_LABELS, self._now(), is_gone=True, is_lost=True) if is_lost else None
        was_silent = before.was_silent if before.is_gone else before.unknown_since is not None
        if not is_lost and not was_silent:
            return None
        since = before.unknown_since or self._now()
        return _NodeEntry(before.labels, since, is_gone=True, is_lost=is_lost, was_silent=was_silent)

    def _put(self, name: TargetName, entry: _NodeEntry | None, guard: OutageGuard | None) -> bool:
        before = self._entries.get(name)
        if entry == before:
            if entry is not None:
                self._entries[name] = entry  # so that the labels of earlier copies of the Node are freed
            return False
        for group in self._groups_of.pop(name, ()):
            self._groups[group].remove(name.name)
        self._kept.discard(name)
        if entry is None:
            self._entries.pop(name, None)
            return False
        self._entries[name] = entry
        if entry.is_gone or entry.is_relabelled:
            self._kept.add(name)
        labels = self._guard.labels if self._guard else ()
        self._groups_of[name] = groups_of(name.cluster, entry.labels, labels)
        groups = [self._group(group) for group in self._groups_of[name]]
        for nodes in groups:
            nodes.add(name.name, entry.unknown_since)
        if guard is None or entry.unknown_since is None or not self._is_read(name.cluster):
            return False
        return any(nodes.may_begin(guard) for nodes in groups)

    def look(self, policy: PolicyInForce, now: datetime) -> Outages:
        """Judge changed groups; returns all known outages.

        Nothing is judged before the policy is known: a guard that was not read may be on.
        """
        if policy.is_known:
            self._judge_changed(policy.policy.outage_guard, now)
        outages = {group: nodes.outage for group, nodes in self._groups.items()}
        kept = {
            (name.cluster, name.name): self._groups_of[name]
            for name in self._kept
            if len(self._groups_of[name]) > 1
        }
        return Outages({group: outage for group, outage in outages.items() if outage != NO_OUTAGE}, kept)

    def _judge_changed(self, guard: OutageGuard | None, now: datetime) -> None:
        is_another, before = guard != self._guard, self._guard
        self._guard = guard
        if (guard.labels if guard else {}).keys() != (before.labels if before else {}).keys():
            for name, entry in list(self._entries.items()):
                self._put(name, None, None)
                self._put(name, entry, None)
        for group, nodes in list(self._groups.items()):
            if group.label is None and nodes.changes:
                self._forget_gone(group, nodes)
        for group, nodes in list(self._groups.items()):
            if (is_another or nodes.is_due(now)) and self._is_read(group.cluster):
                self._judge(group, nodes, now)
            if not nodes.total and nodes.outage == NO_OUTAGE:
                del self._groups[group]  # values of labels come and go

    def _forget_gone(self, group: NodeGroup, nodes: _Nodes) -> None:
        """Forget Nodes that no Machine expects, once no other Node of their cluster is silent."""
        silent = {name: self._entries[node_name(name, group.cluster)] for name in nodes.unknown}
        if all(entry.is_gone for entry in silent.values()):
            for name in [name for name, entry in silent.items() if not entry.is_lost]:
                self._put(node_name(name, group.cluster), None, None)

    def blind_times(self) -> dict[str, BlindTime]:
        """The notes for a new process, by the key of each group."""
        return {
            group.key: BlindTime(until=nodes.outage.ended, is_lost=nodes.outage.is_suspected)
            for group, nodes in self._groups.items()
            # A group without Nodes decides nothing, and the size of the notes is limited.
            if nodes.outage != NO_OUTAGE and nodes.total
        }

    def _group(self, group: NodeGroup) -> _Nodes:
        if group not in self._groups:
            noted = self._noted(group.key)
            outage = GroupOutage(None, noted.until, was_noted=noted.is_lost)
            self._groups[group] = _Nodes(label=group.label, outage=outage)
        return self._groups[group]

    def _judge(self, group: NodeGroup, nodes: _Nodes, now: datetime) -> None:
        before, guard = nodes.outage, self._guard
        if guard is not None and not guard.judges(group):
            guard = None
        after = before.after(guard, group, nodes.total, nodes.unknown.values(), now)
        nodes.outage, nodes.changes = after, 0
        if guard is not None:
            given_way = guard.given_way_until(now)
            nodes.lacking = lacking(guard, group, nodes.total, nodes.unknown.values(), given_way)
        nodes.due = after.gives_way
        if after.suspected is not None and before.suspected is None:
            _log.warning("outage suspected", extra={"why": after.suspected.hold.message})
        elif before.is_suspected and not after.is_suspected:
            how = "ended" if after.ended != before.ended else "is held no longer"
            _log.warning("suspected outage is over", extra={"group": str(group), "how": how})
