"""Feeds: all reflectors of one detector, which put what they read into the cluster state.

Nodes, checks, Leases and the cluster context are watched from the start, and kinds of templates and requests
from the moment that a check names them (`named_kinds`).
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.feeds.feed_handlers import FeedHandlers
from detector.feeds.kind_watch import Kind
from detector.feeds.named_kinds import NamedKinds
from detector.feeds.node_watch import BlindTime
from detector.feeds.own_nodes import OwnNodes
from detector.feeds.policy_feed import PolicyFeed
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.source import NOT_YET, Source, all_tried, by_name
from detector.feeds.workload_clusters import WorkloadClusters
from detector.watched_kind import TargetJoin
from health.check.template_validity import Template
from objects.clusters import MANAGEMENT_CLUSTER
from objects.group_kind import GroupKind
from runtime.problems import Problems

LOOK_FOR_PROBLEMS_SECONDS = 1.0


@dataclass(frozen=True)
class WatchedKinds:
    """All reflectors that run from the start, without the cluster context."""

    common: Sequence[Source]
    """The sources of every verdict: Nodes and Leases."""
    checks: Mapping[GroupKind, Source]
    """By kind of check."""
    targets: Mapping[GroupKind, Source]
    """By kind of target, for targets other than Nodes."""

    @property
    def all(self) -> tuple[Source, ...]:
        return (*self.common, *self.checks.values(), *self.targets.values())


@dataclass(frozen=True, kw_only=True)
class Feeds:
    """The reflectors of the management cluster, and of the Nodes of workload clusters."""

    policy: PolicyFeed
    context: ClusterContextWatch
    own_nodes: OwnNodes
    workloads: WorkloadClusters | None
    """None: this detector connects to no other cluster."""
    watched: WatchedKinds
    joins: Sequence[TargetJoin]
    """They make targets of objects and Nodes, for targets other than Nodes."""
    kinds: RemediationKinds
    named: NamedKinds
    handlers: FeedHandlers
    tasks: asyncio.TaskGroup
    """The watches that begin later run in it."""

    async def run(self, problems: Problems, earlier: BlindTime) -> None:
        """Watch until cancelled; `earlier` is the note of an earlier process on our own cluster."""
        self.own_nodes.watch.resume(earlier)
        async with self.tasks:
            for source in (*self._base.values(), *self.context.sources.values()):
                self.tasks.create_task(source.run())
            self.tasks.create_task(self.own_nodes.wait_notified())
            while True:
                self._report(problems)
                # No event announces that a kind is served now, or no longer.
                self.handlers.context_changed()
                await asyncio.sleep(LOOK_FOR_PROBLEMS_SECONDS)

    async def wait_settled(self) -> None:
        """Return when Nodes and Leases were read completely, and all else was read or its first try failed.

        A missing kind of checks or targets holds only the checks that need it.
        """
        for source in self.watched.common:
            await source.wait_synced()
        await all_tried(self.watched.all)
        await self.context.wait_tried()
        await self.own_nodes.wait_notified()
        await self.kinds.wait_tried()

    def is_read(self, cluster: str) -> bool:
        """True once the Nodes of a cluster were read completely."""
        if cluster == MANAGEMENT_CLUSTER:
            return self.own_nodes.watch.is_read
        return self.workloads is not None and self.workloads.is_read(cluster)

    def is_updated(self, cluster: str) -> bool:
        """True once the targets of the Nodes of a workload cluster are up to date with them."""
        return self.workloads is not None and self.workloads.is_updated(cluster)

    def were_notified(self, cluster: str) -> bool:
        """True once handlers were notified of each Node: during the first list, Nodes seem to be missing."""
        return self.own_nodes.were_notified if cluster == MANAGEMENT_CLUSTER else self.is_read(cluster)

    def ages(self) -> dict[str, timedelta | None]:
        """Age of each source by its name; None if it was never complete."""
        sources = self._base | self.context.served
        ages = {part: source.age() if source.synced else None for part, source in sources.items()}
        workloads = self.workloads.ages() if self.workloads is not None else {}
        return ages | workloads | self.kinds.ages()

    def watched_templates(self, kind: Kind) -> Collection[Template] | None:
        """All templates of a kind, if a fresh watch shows each of them; else None."""
        return self.kinds.watched_templates(kind, self.policy.current().staleness_limit)

    def unread_signals(self) -> str:
        """Why the objects that signal upgrades are not fresh enough; "" if they are."""
        return self.context.unread_signals(self.policy.current().staleness_limit)

    @property
    def _base(self) -> dict[str, Source]:
        return by_name(*self.watched.all)

    def _report(self, problems: Problems) -> None:
        for part, source in self._base.items():
            unread = "" if source.synced else NOT_YET
            problems.report(part, source.problem or unread)
        for part, source in self.context.sources.items():
            unread = "" if source.synced else NOT_YET
            problems.report(part, (source.problem or unread) if source.is_served else "")
