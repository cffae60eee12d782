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
from detector.feeds.node_watch import BlindTime, NodeWatch, look_at
from detector.feeds.policy_feed import PolicyFeed
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.source import Source, all_tried, by_name
from detector.feeds.workload_clusters import WorkloadAccess, WorkloadClusters
from detector.registry import WATCHED_KINDS
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from detector.state.machine_join import MachineJoin
from health.check.template_validity import Template
from health.cluster.upgrade import UpgradeSignal
from health.gate.check_holds import NOT_YET, UnreadSource
from health.kinds.check_kind import CheckKind
from health.model.references import CheckReference, kind_name
from health.model.sighting import Look
from health.model.target import TargetName
from kube.connection import ClusterConnection
from kube.lease import LeaseRecord
from kube.listing import Paging
from kube.record import Change, Key, Record
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
    own_nodes: NodeWatch
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
        self.own_nodes.resume(earlier)
        async with self.tasks:
            for source in (*self._base.values(), *self.context.sources.values()):
                self.tasks.create_task(source.run())
            self.tasks.create_task(self._notified())
            while True:
                self._report(problems)
                # No event announces that a kind is served now, or no longer.
                self.handlers.context_changed()
                await asyncio.sleep(LOOK_FOR_PROBLEMS_SECONDS)

    async def _notified(self) -> None:
        """Make the cluster context anew when handlers were notified of each existing Node."""
        await self.own_nodes.wait_read()
        self.handlers.context_changed()

    async def wait_settled(self) -> None:
        """Return when Nodes and Leases were read completely, and all else was read or its first try failed.

        A missing kind of checks or targets holds only the checks that need it.
        """
        for source in self.watched.common:
            await source.wait_synced()
        await all_tried(self.watched.all)
        await self.context.wait_tried()
        await self._notified()
        await self.kinds.wait_tried()

    def is_read(self, cluster: str) -> bool:
        """True once the Nodes of a cluster were read completely."""
        if cluster == MANAGEMENT_CLUSTER:
            return self.own_nodes.is_read
        return self.workloads.is_read(cluster)

    def look_at_change(self, cluster: str) -> Look | None:
        """The look at the change of a Node that is notified now; None: the cluster is not watched."""
        limit = self.policy.current().staleness_limit
        if cluster == MANAGEMENT_CLUSTER:
            return self.own_nodes.look_at_change(limit)
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

    def unread_signals(self) -> UnreadSource | None:
        """Why the objects that signal upgrades are not fresh enough; None if they are."""
        return self.context.unread_signals(self.policy.current().staleness_limit)

    @property
    def _base(self) -> dict[str, Source]:
        return by_name(*self.watched.all)

    def _report(self, problems: Problems) -> None:
        found: dict[str, str | None] = {}
        for part, source in self._base.items():
            found[part] = source.problem or (None if source.synced else NOT_YET)
        for part, source in self.context.sources.items():
            unread = source.problem or (None if source.synced else NOT_YET)
            # A kind may be watched for its checks, too, and one part has one problem.
            found[part] = found.get(part) or (unread if source.is_served else None)
        for part, problem in found.items():
            problems.report(part, problem)


@dataclass(frozen=True)
class _Reflectors:
    """Makes the reflectors that put objects into the cluster state.

    A guard is around each object: an exception would end the reflector, and the process.
    """

    connection: ClusterConnection
    cluster_state: ClusterState
    policy: PolicyFeed

    def leases(self, namespace: str) -> Source:
        def changed(change: Change[LeaseRecord]) -> None:
            self.cluster_state.lease_changed(change.key.name, change.new)

        notify = self.cluster_state.guard.handler("leases", _key, changed)
        transport, settings = self.connection.transport, self.policy.reflectors
        return Reflector(
            transport, LEASES, LeaseRecord, namespace=namespace, notify=notify, settings=settings
        )

    def checks(self, kind: CheckKind, check_changed: Callable[[CheckReference], None]) -> Source:
        def changed(change: Change[CheckRecord]) -> None:
            key = change.key
            check = CheckReference(kind=kind.kind, group=kind.group, namespace=key.namespace, name=key.name)
            guard = self.cluster_state.guard
            with guard.item(kind.plural, change.key):
                self.cluster_state.check_changed(kind, check, change.new)
            # The kinds that it names are watched even if the state failed to take it in.
            with guard.item(kind.plural, change.key):
                check_changed(check)

        transport, settings = self.connection.transport, self.policy.reflectors
        return Reflector(transport, kind, CheckRecord, notify=changed, settings=settings)

    def targets(self, kind: ServedKind, record: type[Record], join: MachineJoin) -> Source:
        """Watch the objects that `join` makes into targets with their Nodes."""

        def changed(change: Change[Any]) -> None:
            now, limit = self.connection.server_clock.now(), self.policy.current().staleness_limit
            join.target_changed(change.key, change.new, look_at(reflector.proven_before, now, limit))

        def undecodable(key: Key, problem: str) -> None:
            name = TargetName(kind_name(kind.group_kind), key.namespace, key.name)
            self.cluster_state.targets.put_undecodable(name, problem)

        reflector = Reflector(
            self.connection.transport,
            kind,
            record,
            notify=self.cluster_state.guard.handler(kind.plural, _key, changed),
            on_undecodable=undecodable,
            settings=self.policy.reflectors,
        )
        return reflector


def _key(change: Change[Any]) -> Key:
    return change.key


def feeds_of(  # noqa: PLR0913  each is an independent choice of the wiring
    connection: ClusterConnection,
    cluster_state: ClusterState,
    *,
    policy: PolicyFeed,
    kinds: RemediationKinds,
    handlers: FeedHandlers,
    lease_namespace: str,
    upgrade_signals: Sequence[UpgradeSignal],
    check_kinds: Sequence[CheckKind],
    workload_clusters: WorkloadAccess,
) -> Feeds:
    """Make the feeds of these kinds of checks; they watch nothing before they run.

    `workload_clusters` reaches workload clusters that have Nodes of targets.
    """

    def node_watch(cluster: str, reflectors: CurrentSettings = policy.reflectors) -> NodeWatch:
        return NodeWatch(cluster, handlers, reflectors, connection.server_clock.now)

    def in_small_pages() -> ReflectorSettings:
        return replace(policy.reflectors(), paging=SMALL_PAGES)

    def check_changed(check: CheckReference) -> None:
        kinds.check_changed(check, tasks)

    tasks, reflectors = asyncio.TaskGroup(), _Reflectors(connection, cluster_state, policy)
    own_nodes = node_watch(connection.cluster)
    of_workload_cluster = partial(node_watch, reflectors=in_small_pages)
    watched = {kind.targets: WATCHED_KINDS[kind.group_kind].targets for kind in check_kinds}
    joins = {
        kind: (found.record, found.join(cluster_state))
        for kind, found in watched.items()
        if found is not None
    }
    return Feeds(
        policy=policy,
        context=ClusterContextWatch(
            connection,
            lease_namespace,
            upgrade_signals,
            [kind.group_kind for kind in check_kinds],
            handlers.context_changed,
            reflectors=policy.reflectors,
            others=policy.sources,
        ),
        own_nodes=own_nodes,
        workloads=WorkloadClusters(workload_clusters, of_workload_cluster, handlers, cluster_state.guard),
        watched=WatchedKinds(
            common=(own_nodes.connect(connection), reflectors.leases(lease_namespace)),
            checks={kind.group_kind: reflectors.checks(kind, check_changed) for kind in check_kinds},
            targets={kind.group_kind: reflectors.targets(kind, *found) for kind, found in joins.items()},
        ),
        joins=[join for _, join in joins.values()],
        kinds=kinds,
        handlers=handlers,
        tasks=tasks,
    )
