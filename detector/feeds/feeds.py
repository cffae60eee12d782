"""Feeds: all reflectors of one detector, which put what they read into the cluster state.

Nodes, checks, Leases and the cluster context are watched from the start, and kinds of templates and requests
from the moment that a check names them (`remediation_kinds`).
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.feeds.feed_handlers import FeedHandlers
from detector.feeds.kind_watch import Kind
from detector.feeds.node_watch import BlindTime, NodeWatch, OwnNodes, look_at
from detector.feeds.policy_feed import PolicyFeed
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.source import Source, all_tried, by_name
from detector.feeds.workload_clusters import WorkloadAccess, WorkloadClusters
from detector.registry import WATCHED_KINDS
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from detector.state.machine_join import MachineJoin
from detector.watched_kind import WatchedTargets
from health.check.template_validity import Template
from health.cluster.upgrade import UpgradeSignal
from health.gate.check_holds import NOT_YET
from health.kinds.check_kind import CheckKind
from health.model.references import CheckReference, kind_name
from health.model.sighting import Look
from health.model.target import TargetName
from kube.connection import ClusterConnection
from kube.lease import LeaseRecord
from kube.listing import Paging
from kube.record import Change, Key, RecordT
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings, ReflectorSettings
from kube.resource import LEASES
from objects.clusters import MANAGEMENT_CLUSTER
from objects.group_kind import GroupKind, ServedKind
from runtime.problems import Problems

LOOK_FOR_PROBLEMS_SECONDS = 1.0
SMALL_PAGES = Paging(limit=50)
"""For Nodes of workload clusters: many lists run at once, and each page is in memory as received."""


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
    workloads: WorkloadClusters
    watched: WatchedKinds
    joins: Sequence[MachineJoin]
    """They make targets of objects and Nodes, for targets other than Nodes."""
    kinds: RemediationKinds
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
        return self.workloads.is_read(cluster)

    def look_at_change(self, cluster: str) -> Look | None:
        """The look at the change of a Node that is notified now; None: the cluster is not watched."""
        limit = self.policy.current().staleness_limit
        if cluster == MANAGEMENT_CLUSTER:
            return self.own_nodes.watch.look_at_change(limit)
        return self.workloads.look_at_change(cluster, limit)

    def were_notified(self, cluster: str) -> bool:
        """True once handlers were notified of each Node: during the first list, Nodes seem to be missing."""
        return self.own_nodes.were_notified if cluster == MANAGEMENT_CLUSTER else self.is_read(cluster)

    def ages(self) -> dict[str, timedelta | None]:
        """Age of each source by its name; None if it was never complete."""
        sources = self._base | self.context.served
        ages = {part: source.age() if source.synced else None for part, source in sources.items()}
        return ages | self.workloads.ages() | self.kinds.ages()

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
        found: dict[str, str] = {}
        for part, source in self._base.items():
            found[part] = source.problem or ("" if source.synced else NOT_YET)
        for part, source in self.context.sources.items():
            unread = source.problem or ("" if source.synced else NOT_YET)
            # A kind may be watched for its checks, too, and one part has one problem.
            found[part] = found.get(part) or (unread if source.is_served else "")
        for part, problem in found.items():
            problems.report(part, problem)


@dataclass(frozen=True)
class WatchScope:
    """The parts of a cluster that are watched."""

    lease_namespace: str
    upgrade_signals: Sequence[UpgradeSignal]
    kinds: Sequence[CheckKind]
    workload_clusters: WorkloadAccess
    """How to reach workload clusters that have Nodes of targets."""


@dataclass(frozen=True, kw_only=True)
class FeedBuilder:
    """The parts that all feeds need, and the functions that make the feeds."""

    connection: ClusterConnection
    cluster_state: ClusterState
    policy: PolicyFeed
    kinds: RemediationKinds
    handlers: FeedHandlers

    def build(self, scope: WatchScope) -> Feeds:
        """Make the feeds of this scope; they watch nothing before they run."""
        tasks = asyncio.TaskGroup()
        watch = self._node_watch(self.connection.cluster, self.policy.reflectors)
        own_nodes = OwnNodes(watch, self.connection, self.handlers.context_changed)
        joins = self._joins(scope.kinds)
        return Feeds(
            policy=self.policy,
            context=self._context(scope),
            own_nodes=own_nodes,
            workloads=self._workloads(scope.workload_clusters),
            watched=WatchedKinds(
                common=(own_nodes.source, self._leases(scope.lease_namespace)),
                checks={kind.group_kind: self._checks(kind, tasks) for kind in scope.kinds},
                targets={
                    kind.group_kind: self._targets(kind, watched, join)
                    for kind, (watched, join) in joins.items()
                },
            ),
            joins=[join for _, join in joins.values()],
            kinds=self.kinds,
            handlers=self.handlers,
            tasks=tasks,
        )

    def _context(self, scope: WatchScope) -> ClusterContextWatch:
        return ClusterContextWatch(
            self.connection,
            scope.lease_namespace,
            scope.upgrade_signals,
            [kind.group_kind for kind in scope.kinds],
            self.handlers.context_changed,
            reflectors=self.policy.reflectors,
            others=[] if self.policy.watch is None else [self.policy.watch.source],
        )

    def _workloads(self, access: WorkloadAccess) -> WorkloadClusters:
        def in_small_pages() -> ReflectorSettings:
            return replace(self.policy.reflectors(), paging=SMALL_PAGES)

        watch = partial(self._node_watch, reflectors=in_small_pages)
        return WorkloadClusters(access, watch, self.handlers, self.cluster_state.guard)

    def _node_watch(self, cluster: str, reflectors: CurrentSettings) -> NodeWatch:
        return NodeWatch(cluster, self.handlers, reflectors, self.connection.server_clock.now)

    def _leases(self, namespace: str) -> Source:
        def lease_changed(change: Change[LeaseRecord]) -> None:
            self.cluster_state.lease_changed(change.key.name, change.new)

        return Reflector(
            self.connection.transport,
            LEASES,
            LeaseRecord,
            namespace=namespace,
            notify=self._guarded("leases", lease_changed),
            settings=self.policy.reflectors,
        )

    def _checks(self, kind: CheckKind, tasks: asyncio.TaskGroup) -> Source:
        def check_changed(change: Change[CheckRecord]) -> None:
            key = change.key
            check = CheckReference(kind=kind.kind, group=kind.group, namespace=key.namespace, name=key.name)
            self.cluster_state.check_changed(kind, check, change.new)
            self.kinds.check_changed(check, tasks)

        return Reflector(
            self.connection.transport,
            kind,
            CheckRecord,
            notify=self._guarded(kind.plural, check_changed),
            settings=self.policy.reflectors,
        )

    def _joins(self, kinds: Sequence[CheckKind]) -> dict[ServedKind, tuple[WatchedTargets, MachineJoin]]:
        watched = {kind.targets: WATCHED_KINDS[kind.group_kind].targets for kind in kinds}
        return {
            kind: (targets, targets.join(self.cluster_state)) for kind, targets in watched.items() if targets
        }

    def _targets(self, kind: ServedKind, watched: WatchedTargets, join: MachineJoin) -> Source:
        def changed(change: Change[Any]) -> None:
            now, limit = self.connection.server_clock.now(), self.policy.current().staleness_limit
            join.target_changed(change.key, change.new, look_at(reflector.proven_before, now, limit))

        def undecodable(key: Key, problem: str) -> None:
            name = TargetName(kind_name(kind.group_kind), key.namespace, key.name)
            self.cluster_state.targets.put_undecodable(name, problem)

        reflector = Reflector(
            self.connection.transport,
            kind,
            watched.record,
            notify=self._guarded(kind.plural, changed),
            on_undecodable=undecodable,
            settings=self.policy.reflectors,
        )
        return reflector

    def _guarded(
        self, part: str, handle: Callable[[Change[RecordT]], None]
    ) -> Callable[[Change[RecordT]], None]:
        """`handle` with a guard around each object: an exception would end the reflector, and the process."""
        return self.cluster_state.guard.handler(part, lambda change: change.key, handle)
