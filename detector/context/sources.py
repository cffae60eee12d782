"""Sources: the reflectors that feed the cluster state, and their ages.

Nodes, checks, Leases and the cluster context are watched from the start, and kinds of templates and requests
from the moment that a check names them (`named_kinds`).
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from detector.context.cluster_identities import ClusterIdentities, Confirmations
from detector.context.lost_nodes_watch import LostNodesWatch
from detector.context.outage_watch import OutageWatch
from detector.context.sources_of_checks import SourcesOfChecks, WatchedKinds
from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.feeds.kind_watch import Kind
from detector.feeds.named_kinds import NamedKinds
from detector.feeds.node_watch import BlindTime, NodeWatch
from detector.feeds.policy_watch import PolicyWatch
from detector.feeds.source import NOT_YET, Source, all_tried, by_name
from detector.feeds.workload_clusters import ClusterHandlers, WorkloadAccess, WorkloadClusters
from detector.registry import WATCHED_KINDS
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from detector.watched_kind import TargetJoin, WatchedTargets
from health.check.template_validity import Template, TemplateKind
from health.cluster.cluster_context import ClusterContext
from health.cluster.cluster_identity import NOT_KNOWN, KnownCluster
from health.cluster.pause_progress import PauseProgress
from health.cluster.upgrade import CLUSTER_VERSION, Upgrade, UpgradePhase, UpgradeSignal
from health.kinds.check_kind import CheckKind
from health.kinds.registry import HANDLED_BY_DEFAULT
from health.model.invalid_check import InvalidCheckError
from health.model.kind_names import kind_name
from health.model.node import Node
from health.model.references import CheckReference
from health.model.target import TargetName
from health.policy.maintenance_windows import open_windows
from health.policy.policy import CurrentPolicy, Policy
from health.policy.policy_in_force import PolicyInForce
from kube.connection import ClusterConnection
from kube.lease import LeaseRecord
from kube.listing import Paging
from kube.record import Change, Key, RecordT
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings, ReflectorSettings, patient
from kube.resource import LEASES
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from objects.group_kind import GroupKind, ServedKind
from runtime.problems import Problems

LOOK_FOR_PROBLEMS_SECONDS = 1.0
SMALL_PAGES = Paging(limit=50)
"""For Nodes of workload clusters: many lists run at once, and each page is in memory as received."""
UNJUDGED = ClusterContext(
    upgrade=Upgrade(UpgradePhase.UNKNOWN, why_unknown="the cluster context cannot be judged")
)
"""Holds every check: facts that are not known must not be acted on (rule 3)."""


@dataclass(frozen=True)
class WatchScope:
    """The parts of a cluster that are watched."""

    lease_namespace: str
    upgrade_signals: Sequence[UpgradeSignal] = (CLUSTER_VERSION,)
    kinds: Sequence[CheckKind] = HANDLED_BY_DEFAULT
    reflectors: CurrentSettings = patient
    workload_clusters: WorkloadAccess | None = None
    """How to reach workload clusters that have Nodes of targets; None: there are none."""
    pause_progress: Callable[[], PauseProgress | None] = lambda: None
    """How far checks are paused for upgrades; None: pausing is off."""
    policy_namespace: str = ""
    """The namespace of the ConfigMap with the policy; "": there is none."""
    policy_is_required: bool = False
    """Whether a missing policy holds every check."""
    blind_time: Callable[[str], BlindTime] = lambda _: BlindTime()
    """The note of an earlier process on this cluster, or on a group of Nodes."""
    known_cluster: Callable[[str], KnownCluster] = lambda _: NOT_KNOWN
    """The note of an earlier process on the identity of this or another cluster."""


class Sources:
    """All reflectors: of the management cluster, and of the Nodes of workload clusters."""

    def __init__(
        self,
        connection: ClusterConnection,
        cluster_state: ClusterState,
        scope: WatchScope,
        problems: Problems,
        defaults: CurrentPolicy,
    ) -> None:
        """`defaults` is the policy without a ConfigMap."""
        self._transport = connection.transport
        self._cluster_state = cluster_state
        self._problems = problems
        self._defaults = defaults
        self._pause_progress = scope.pause_progress
        self._tasks = asyncio.TaskGroup()
        self._reflectors = settings = scope.reflectors
        self._kinds = NamedKinds(connection, cluster_state, settings)
        self._policy_watch = self._made_policy_watch(scope)
        self._context = ClusterContextWatch(
            connection,
            scope.lease_namespace,
            scope.upgrade_signals,
            [kind.group_kind for kind in scope.kinds],
            self.refresh_context,
            settings,
            self._policy_watch,
        )
        self._joins: list[TargetJoin] = []
        self._now = connection.server_clock.now
        self._workloads = self._made_workloads(scope.workload_clusters)
        self._blind_time = scope.blind_time
        self._outages = OutageWatch(scope.blind_time, self._has_read, self._now)
        self._identities = ClusterIdentities(scope.known_cluster)
        self._were_own_told = False
        self._lost_nodes = LostNodesWatch(self._identities.lost, self._was_told, self._now)
        cluster_state.linked_nodes.add_handler(self._expected_changed)
        self._own_nodes = self._node_watch(connection.cluster, settings)
        nodes = self._own_nodes.connect(connection)
        self._watched = WatchedKinds(
            common=(nodes, self._leases(scope.lease_namespace)),
            checks={kind.group_kind: self._checks_of(kind) for kind in scope.kinds},
            targets=self._targets_of(scope.kinds),
        )
        self.of_checks = SourcesOfChecks(
            cluster_state,
            self._watched,
            self._kinds,
            self._context,
            self._own_nodes,
            self._workloads,
            self.policy,
            self.refresh_context,
        )

    def _made_policy_watch(self, scope: WatchScope) -> PolicyWatch | None:
        if not scope.policy_namespace:
            return None
        return PolicyWatch(
            self._transport,
            scope.policy_namespace,
            self._defaults,
            self.refresh_context,
            self._reflectors,
            is_required=scope.policy_is_required,
        )

    def policy(self) -> Policy:
        return self._policy_watch.current() if self._policy_watch else self._defaults()

    def _node_watch(self, cluster: str, reflectors: CurrentSettings) -> NodeWatch:
        return NodeWatch(cluster, self._node, self._undecodable_node, reflectors, self._now)

    def _in_small_pages(self) -> ReflectorSettings:
        return replace(self._reflectors(), paging=SMALL_PAGES)

    def _made_workloads(self, access: WorkloadAccess | None) -> WorkloadClusters | None:
        if access is None:
            return None
        told = ClusterHandlers(self._cluster_read, self._cluster_forgotten, self.refresh_context)
        watch = partial(self._node_watch, reflectors=self._in_small_pages)
        return WorkloadClusters(access, watch, told, self._cluster_state.guard)

    def _targets_of(self, kinds: Sequence[CheckKind]) -> dict[GroupKind, Source]:
        watched = {kind.targets: WATCHED_KINDS[kind.group_kind].targets for kind in kinds}
        return {kind.group_kind: self._targets(kind, targets) for kind, targets in watched.items() if targets}

    def _targets(self, kind: ServedKind, watched: WatchedTargets) -> Source:
        join = watched.join(self._cluster_state)
        self._joins.append(join)
        return Reflector(
            self._transport,
            kind,
            watched.record,
            notify=self._guarded(kind.plural, lambda change: join.target_changed(change.key, change.new)),
            on_undecodable=partial(self._undecodable, kind_name(kind.group_kind)),
            settings=self._reflectors,
        )

    def _leases(self, namespace: str) -> Source:
        return Reflector(
            self._transport,
            LEASES,
            LeaseRecord,
            namespace=namespace,
            notify=self._guarded("leases", self._lease),
            settings=self._reflectors,
        )

    def _has_read(self, cluster: str) -> bool:
        """True once the Nodes of a cluster were read completely."""
        if cluster == MANAGEMENT_CLUSTER:
            return self._own_nodes.is_read
        return self._workloads is not None and self._workloads.is_read(cluster)

    def _was_told(self, cluster: str) -> bool:
        """True once handlers were notified of each Node: during the first list, Nodes seem to be missing."""
        return self._were_own_told if cluster == MANAGEMENT_CLUSTER else self._has_read(cluster)

    def blind_times(self) -> dict[str, BlindTime]:
        """The notes for a new process: lost connections by cluster, suspected outages by group."""
        known = self._workloads.blind_times() if self._workloads is not None else {}
        if self.policy().outage_guard:
            known[self._own_nodes.cluster] = self._own_nodes.blind_time
        return known | self._outages.blind_times()

    def known_clusters(self) -> dict[str, KnownCluster]:
        """The notes for a new process: the identity of clusters, and how many of their Nodes are gone."""
        return self._identities.notes(self._lost_nodes.believed())

    def take_noted_clusters(self) -> None:
        """Prefer the previous leader's notes on clusters."""
        self._identities.take_noted()
        self.refresh_context()

    async def run(self) -> None:
        self._own_nodes.resume(self._blind_time(MANAGEMENT_CLUSTER))
        async with self._tasks:
            for source in (*self._base.values(), *self._context.sources.values()):
                self._tasks.create_task(source.run())
            self._tasks.create_task(self._note_own_told())
            while True:
                self._report_problems()
                # No event announces that a kind is served now, or no longer.
                self.refresh_context()
                await asyncio.sleep(LOOK_FOR_PROBLEMS_SECONDS)

    async def _note_own_told(self) -> None:
        await self._own_nodes.wait_read()
        self._were_own_told = True
        self.refresh_context()

    async def wait_settled(self) -> None:
        """Return when Nodes and Leases were read completely, and all else was read or its first try failed.

        A missing kind of checks or targets holds only the checks that need it.
        """
        for source in self._watched.common:
            await source.wait_synced()
        await all_tried(self._watched.all)
        await self._context.wait_tried()
        await self._note_own_told()
        await self._kinds.wait_tried()

    def ages(self) -> dict[str, timedelta | None]:
        """Age of each source by its name; None if it was never complete."""
        sources = self._base | self._context.served
        ages = {part: source.age() if source.synced else None for part, source in sources.items()}
        workloads = self._workloads.ages() if self._workloads is not None else {}
        return ages | workloads | self._kinds.ages()

    @property
    def _base(self) -> dict[str, Source]:
        return by_name(*self._watched.all)

    def template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        """The known templates of a kind; None before the first try."""
        return self._kinds.template_kind(api_version, kind)

    def watched_templates(self, kind: Kind) -> Collection[Template] | None:
        """All templates of a kind, if a fresh watch shows each of them; else None."""
        return self._kinds.watched_templates(kind, self.policy().staleness_limit)

    def _checks_of(self, kind: CheckKind) -> Source:
        notify = self._guarded(kind.plural, partial(self._check, kind))
        return Reflector(self._transport, kind, CheckRecord, notify=notify, settings=self._reflectors)

    def _guarded(
        self, part: str, handle: Callable[[Change[RecordT]], None]
    ) -> Callable[[Change[RecordT]], None]:
        """`handle` with a guard around each object: an exception would end the reflector, and the process."""
        return self._cluster_state.guard.handler(part, lambda change: change.key, handle)

    def _node(self, name: TargetName, node: Node | None) -> None:
        with self._cluster_state.guard.item("nodes", name.name):
            guard = self.policy().outage_guard
            have_vanished = self._lost_nodes.node_changed(name, guard, is_there=node is not None)
            is_lost = self._lost_nodes.is_lost(name)
            are_silent = self._outages.node_changed(name, node, guard, is_lost=is_lost)
            if have_vanished or are_silent:
                self.refresh_context()  # before handlers hear that the target failed
            self._cluster_state.target_changed(name, node)
            for join in self._joins:
                join.node_changed(name, node)

    def _undecodable_node(self, name: TargetName, problem: str) -> None:
        with self._cluster_state.guard.item("nodes", name.name):
            self._cluster_state.targets.put_undecodable(name, problem)
            guard = self.policy().outage_guard
            if self._lost_nodes.decoding_changed(name, guard, is_undecodable=bool(problem)):
                self.refresh_context()
            for join in self._joins:
                join.node_decoding_changed(name)

    def _expected_changed(self, name: TargetName, is_expected: bool) -> None:  # noqa: FBT001  as Handler
        guard = self.policy().outage_guard
        have_vanished = self._lost_nodes.expected_changed(name, guard, is_expected=is_expected)
        is_lost = self._lost_nodes.is_lost(name)
        if self._outages.lost_changed(name, guard, is_lost=is_lost) or have_vanished:
            self.refresh_context()

    def _cluster_read(self, cluster: str) -> None:
        with self._cluster_state.guard.item("clusters", cluster):
            # Before the joins: the handlers of Machines ask whether missing Nodes are believed to be gone.
            self.refresh_context()
            for join in self._joins:
                join.cluster_read(cluster)

    def _cluster_forgotten(self, cluster: str) -> None:
        with self._cluster_state.guard.item("clusters", cluster):
            self._outages.forget(cluster)
            for join in self._joins:
                join.cluster_forgotten(cluster)

    def _undecodable(self, kind: str, key: Key, problem: str) -> None:
        self._cluster_state.targets.put_undecodable(TargetName(kind, key.namespace, key.name), problem)

    def _lease(self, change: Change[LeaseRecord]) -> None:
        self._cluster_state.lease_changed(change.key.name, change.new)

    def _check(self, kind: CheckKind, change: Change[CheckRecord]) -> None:
        reference = CheckReference(
            kind=kind.kind, group=kind.group, namespace=change.key.namespace, name=change.key.name
        )
        self._cluster_state.check_changed(kind, reference, change.new)
        self._kinds.watch(self._tasks)

    def unread_signals(self) -> str:
        """Why the objects that signal upgrades are not fresh enough; "" if they are."""
        return self._context.unread_signals(self.policy().staleness_limit)

    @property
    def serves_signals(self) -> bool:
        """True if the API server serves a kind that can signal an upgrade."""
        return self._context.serves_signals

    def refresh_context(self) -> None:
        """Compute the cluster context, and give it to the cluster state."""
        context = UNJUDGED
        with self._cluster_state.guard.item("cluster context", "cluster"):
            known = replace(self._context.now(), upgrade_pause=self._pause_progress())
            distrusted = self._with_distrust(known)
            context = self._with_windows(self._with_outages(self._with_workloads(distrusted)))
        self._cluster_state.take_context(context)

    def _with_distrust(self, context: ClusterContext) -> ClusterContext:
        """The context with the clusters whose Nodes are distrusted, and the latest losses."""
        confirmations, confirmed = self._confirmed(context)
        distrusted = self._lost_nodes.look(self.policy().outage_guard, confirmed)
        if self._workloads is not None:
            self._workloads.name(self._wanted_clusters(context), self._tasks)
            distrusted |= self._identities.see(self._workloads.uids(), confirmations)
        return replace(context, distrusted=distrusted, vanished=self._lost_nodes.vanished())

    def _confirmed(self, context: ClusterContext) -> tuple[dict[str, Confirmations], dict[str, datetime]]:
        """The confirmations on checks, by the cluster whose Nodes they judge.

        A time in the future confirms nothing: it would confirm losses that have not happened yet.
        """
        identities: dict[str, Confirmations] = {}
        losses: dict[str, datetime] = {}
        now = self._now()
        for check_state in self._cluster_state.checks.values():
            if isinstance(check_state.check, InvalidCheckError):
                continue
            check, cluster = check_state.check, check_state.node_cluster_in(context)
            choices = check.choices
            uids = {*identities.get(cluster, Confirmations()).uids, choices.confirmed_cluster} - {""}
            identities[cluster] = Confirmations(check.owner_of_node_cluster(context), uids)
            if choices.confirmed_node_loss is not None and choices.confirmed_node_loss <= now:
                before = losses.get(cluster, choices.confirmed_node_loss)
                losses[cluster] = max(before, choices.confirmed_node_loss)
        return identities, losses

    def _with_workloads(self, context: ClusterContext) -> ClusterContext:
        """The context with the state of the workload clusters that `context` says are to be watched."""
        if self._workloads is None:
            return context
        limit = self.policy().staleness_limit
        reconnected = self._workloads.look(limit, context.distrusted)
        return replace(
            context,
            reconnected=reconnected,
            back=self._workloads.connected_anew(),
            unreachable=self._workloads.unreachable(limit),
            clock_skews=self._workloads.clock_skews(),
        )

    def _with_outages(self, context: ClusterContext) -> ClusterContext:
        """The context with suspected outages; without the outage guard they hold nothing."""
        policy = self.policy()
        is_distrusted = MANAGEMENT_CLUSTER in context.distrusted
        self._own_nodes.look(policy.staleness_limit, is_distrusted=is_distrusted)
        in_force = context.policy if self._policy_watch else PolicyInForce(policy)
        known = replace(context, outages=self._outages.look(in_force, self._now()))
        until = self._own_nodes.blind_time.until
        if until is None:
            return known
        if policy.outage_guard is None:
            return replace(known, back={**context.back, MANAGEMENT_CLUSTER: until})
        return replace(known, reconnected={**context.reconnected, MANAGEMENT_CLUSTER: until})

    def _with_windows(self, context: ClusterContext) -> ClusterContext:
        """The context with the open maintenance windows, which change with time alone."""
        windows = open_windows(self.policy().maintenance_windows, self._now())
        return replace(context, open_windows=windows)

    def _wanted_clusters(self, context: ClusterContext) -> dict[str, SecretField]:
        """The clusters whose Nodes checks judge, and the Secret field of each kubeconfig."""
        wanted = {}
        for check_state in self._cluster_state.checks.values():
            cluster, kubeconfig = check_state.node_cluster_in(context), check_state.kind.kubeconfig
            if cluster != MANAGEMENT_CLUSTER and kubeconfig is not None:
                wanted[cluster] = kubeconfig(cluster)
        return wanted

    def _report_problems(self) -> None:
        for part, source in self._base.items():
            unread = "" if source.synced else NOT_YET
            self._problems.report(part, source.problem or unread)
        for part, source in self._context.sources.items():
            unread = "" if source.synced else NOT_YET
            self._problems.report(part, (source.problem or unread) if source.is_served else "")
