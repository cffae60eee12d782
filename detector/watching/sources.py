"""Sources: the reflectors that feed the cluster state, and how old it is.

Nodes, checks, Leases and the cluster context are watched from the start; kinds of templates and of
requests when a check names them (`named_kinds`).
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from detector.answers.observation_builder import CheckFreshness
from detector.registry import WATCHED_KINDS
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from detector.watched_kind import TargetJoin, WatchedTargets
from detector.watching.cluster_context_watch import ClusterContextWatch
from detector.watching.kind_watch import Kind
from detector.watching.named_kinds import NamedKinds
from detector.watching.node_watch import BlindTime, NodeWatch
from detector.watching.outage_watch import OutageWatch
from detector.watching.policy_watch import PolicyWatch
from detector.watching.source import Source, all_tried, by_name
from detector.watching.workload_clusters import ClusterHandlers, WorkloadAccess, WorkloadClusters
from health.gate.cluster_context import ClusterContext, workload_cluster_hold
from health.gate.pause_progress import PauseProgress
from health.gate.policy import CurrentPolicy, Policy
from health.gate.policy_in_force import PolicyInForce
from health.gate.template_validity import Template, TemplateKind
from health.gate.upgrade import CLUSTER_VERSION, Upgrade, UpgradePhase, UpgradeSignal
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS, HANDLED_BY_DEFAULT
from health.model.kind_names import kind_name
from health.model.node import Node
from health.model.observation import Hold
from health.model.references import CheckReference
from health.model.target import TargetName
from kube.connection import ClusterConnection
from kube.lease import LeaseRecord
from kube.listing import Paging
from kube.record import Change, Key, RecordT
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings, ReflectorSettings, patient
from kube.resource import LEASES
from objects.clusters import MANAGEMENT_CLUSTER
from objects.group_kind import ServedKind
from objects.secrets import SecretField
from runtime.problems import Problems

NOT_CONNECTED = "this detector is configured to connect to no other cluster"
LOOK_FOR_PROBLEMS_SECONDS = 1.0
LONGEST_WAIT_FOR_KINDS_SECONDS = 2.0
SMALL_PAGES = Paging(limit=50)
"""Of Nodes of workload clusters: many are read at once, and each page is in memory as it was sent."""
UNJUDGED = ClusterContext(
    upgrade=Upgrade(UpgradePhase.UNKNOWN, why_unknown="the cluster context cannot be judged")
)
"""Holds every check: what is not known must not be acted on (rule 3)."""


@dataclass(frozen=True)
class Scope:
    """What of a cluster is watched."""

    lease_namespace: str
    upgrade_signals: Sequence[UpgradeSignal] = (CLUSTER_VERSION,)
    kinds: Sequence[CheckKind] = HANDLED_BY_DEFAULT
    reflectors: CurrentSettings = patient
    workload_clusters: WorkloadAccess | None = None
    """How other clusters are reached that have Nodes of targets; None: there are none."""
    pause_progress: Callable[[], PauseProgress | None] = lambda: None
    """How far checks are paused for upgrades; None: nobody pauses any."""
    policy_namespace: str = ""
    """Where the ConfigMap with the policy is looked for; "": nowhere."""
    blind_time: Callable[[str], BlindTime] = lambda _: BlindTime()
    """What an earlier process noted of this cluster, or of a group of Nodes."""


class Sources:
    """All reflectors: those of the cluster that checks are in, and of the Nodes of others."""

    def __init__(
        self,
        connection: ClusterConnection,
        cluster_state: ClusterState,
        scope: Scope,
        problems: Problems,
        defaults: CurrentPolicy,
    ) -> None:
        """`defaults` is the policy where no ConfigMap says another one."""
        self._transport = connection.transport
        self._cluster_state = cluster_state
        self._problems = problems
        self._defaults = defaults
        self._pause_progress = scope.pause_progress
        self._tasks = asyncio.TaskGroup()
        self._reflectors = settings = scope.reflectors
        self._kinds = NamedKinds(connection, cluster_state, settings)
        self._policy_watch = self._made_policy_watch(scope.policy_namespace)
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
        self._workloads = self._made_workloads(scope.workload_clusters)
        self._now = connection.server_clock.now
        self._blind_time = scope.blind_time
        self._outages = OutageWatch(scope.blind_time, self._has_read)
        self._own_nodes = self._node_watch(connection.cluster, settings)
        nodes = self._own_nodes.connect(connection)
        self._common = (nodes, self._leases(scope.lease_namespace))
        self._of_checks = {kind.group_kind: self._checks_of(kind) for kind in scope.kinds}
        watched = {kind.targets: WATCHED_KINDS[kind.group_kind].targets for kind in scope.kinds}
        self._of_targets = {
            kind.group_kind: self._targets(kind, targets) for kind, targets in watched.items() if targets
        }

    def _made_policy_watch(self, namespace: str) -> PolicyWatch | None:
        if not namespace:
            return None
        return PolicyWatch(self._transport, namespace, self._defaults, self.refresh_context, self._reflectors)

    def policy(self) -> Policy:
        """The policy as it is now."""
        return self._policy_watch.current() if self._policy_watch else self._defaults()

    def _node_watch(self, cluster: str, reflectors: CurrentSettings) -> NodeWatch:
        undecodable = self._cluster_state.targets.put_undecodable
        return NodeWatch(cluster, self._node, undecodable, reflectors)

    def _in_small_pages(self) -> ReflectorSettings:
        return replace(self._reflectors(), paging=SMALL_PAGES)

    def _made_workloads(self, access: WorkloadAccess | None) -> WorkloadClusters | None:
        if access is None:
            return None
        told = ClusterHandlers(self._cluster_read, self._cluster_forgotten, self.refresh_context)
        watch = partial(self._node_watch, reflectors=self._in_small_pages)
        return WorkloadClusters(access, watch, told, self._cluster_state.guard)

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
        """Whether the Nodes of a cluster were read completely, however long ago."""
        if cluster == MANAGEMENT_CLUSTER:
            return self._own_nodes.is_read
        return self._workloads is not None and self._workloads.is_read(cluster)

    def blind_times(self) -> dict[str, BlindTime]:
        """What a new process must know: of connections by cluster, of outages by group."""
        watches = self._workloads.watches if self._workloads is not None else ()
        all_watches = [*watches, *([self._own_nodes] if self.policy().outage_guard else [])]
        return {nodes.cluster: nodes.blind_time for nodes in all_watches} | self._outages.blind_times()

    async def run(self) -> None:
        """Watch until cancelled."""
        self._own_nodes.resume(self._blind_time(MANAGEMENT_CLUSTER))
        async with self._tasks:
            for source in (*self._base.values(), *self._context.sources.values()):
                self._tasks.create_task(source.run())
            while True:
                self._report_problems()
                # That a kind is served by now, or no more, is told to nobody.
                self.refresh_context()
                await asyncio.sleep(LOOK_FOR_PROBLEMS_SECONDS)

    async def wait_settled(self) -> None:
        """Return when nodes and Leases were read completely, and all else was or could not be.

        What is missing of one kind of checks or targets holds the checks that rest on it, and no other.
        """
        for source in self._common:
            await source.wait_synced()
        await all_tried((*self._of_checks.values(), *self._of_targets.values()))
        await self._context.wait_tried()
        self.refresh_context()
        await self._kinds.wait_tried()

    async def wait_read(self, check: CheckReference) -> None:
        """Return when all that the numbers of `check` rest on was read completely.

        But for the Nodes of another cluster, which were tried: that they can't be seen is told.
        """
        for source in self._sources_of(check):
            await source.wait_synced()
        await self._wait_cluster_tried(self._node_cluster_of(check))

    async def _wait_cluster_tried(self, cluster: str) -> None:
        """Return when the context says what the first try at the Nodes of another cluster came to."""
        if cluster == MANAGEMENT_CLUSTER or self._workloads is None:
            return
        if not self._workloads.is_named(cluster):
            self.refresh_context()  # a check that has just come names it
        await self._workloads.wait_tried(cluster)

    def is_read(self, check: CheckReference) -> bool:
        """Whether all that the numbers of `check` rest on was read completely, however long ago."""
        cluster = self._node_cluster_of(check)
        has_nodes = cluster == MANAGEMENT_CLUSTER or (
            self._workloads is not None and self._workloads.is_read(cluster)
        )
        return has_nodes and all(source.synced for source in self._sources_of(check))

    async def wait_kinds(self, check: CheckReference) -> None:
        """Return when the kinds that the templates of `check` name were tried, or after two seconds."""
        try:
            async with asyncio.timeout(LONGEST_WAIT_FOR_KINDS_SECONDS):
                await self._kinds.wait_tried_of(check)
        except TimeoutError:
            return

    def age(self) -> timedelta | None:
        """The age of the oldest source that verdicts rest on; None if one was never complete."""
        return _oldest(self._base.values())

    def ages(self) -> dict[str, timedelta | None]:
        """How old each source is, by its name; None for one that was never complete."""
        sources = self._base | self._context.served
        ages = {part: source.age() if source.synced else None for part, source in sources.items()}
        workloads = self._workloads.ages() if self._workloads is not None else {}
        return ages | workloads | self._kinds.ages()

    def freshness(self, check: CheckReference) -> CheckFreshness:
        """How well is seen what matters to a check, by the limit of the policy as it is now."""
        limit = self.policy().staleness_limit
        if check.group_kind not in self._of_checks:
            return CheckFreshness(self.age(), limit, is_handled=False)
        return CheckFreshness(
            _oldest(self._sources_of(check)),
            limit,
            self._kinds.unread_requests(check, limit),
            self._kinds.unread_templates(check, limit),
            self._context.unread(check.group_kind, limit) or self._just_back(limit),
            self._unreachable(check, limit),
        )

    def _just_back(self, limit: timedelta) -> str:
        """That clocks are about to restart, as our own cluster was away; "" if it was not, or need not."""
        return self._own_nodes.problem(limit) if self.policy().outage_guard else ""

    def is_proven(self, check: CheckReference, within: timedelta) -> bool:
        """Whether all that matters to a check was proven within this time to be as it is seen."""
        if check.group_kind not in self._of_checks:
            return True
        age = _oldest(self._sources_of(check))
        return age is not None and age <= within and not self._kinds.unread_requests(check, within)

    def _unreachable(self, check: CheckReference, limit: timedelta) -> Hold | None:
        """Why the Nodes that a check rests on cannot be seen, where they are in another cluster."""
        cluster = self._node_cluster_of(check)
        if cluster == MANAGEMENT_CLUSTER:
            return None
        problem = NOT_CONNECTED if self._workloads is None else self._workloads.problem(cluster, limit)
        return workload_cluster_hold(cluster, problem) if problem else None

    def _sources_of(self, check: CheckReference) -> list[Source]:
        """What the verdicts of one check rest on: what is wrong with other kinds is no matter of it."""
        kind = CHECK_KINDS[check.group_kind]
        own = (
            self._of_checks.get(check.group_kind),
            self._of_targets.get(kind.targets.group_kind),
            self._context.of_verdicts(check.group_kind),
        )
        return [*self._common, *(source for source in own if source is not None)]

    def _node_cluster_of(self, check: CheckReference) -> str:
        known = self._cluster_state.checks.get(check)
        return known.node_cluster_in(self._cluster_state.cluster_context) if known else MANAGEMENT_CLUSTER

    @property
    def _base(self) -> dict[str, Source]:
        return by_name(*self._common, *self._of_checks.values(), *self._of_targets.values())

    def template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        """What is known of the templates of a kind."""
        return self._kinds.template_kind(api_version, kind)

    def watched_templates(self, kind: Kind) -> Collection[Template] | None:
        """All templates of a kind, where a fresh watch shows each of them; else None."""
        return self._kinds.watched_templates(kind, self.policy().staleness_limit)

    def _checks_of(self, kind: CheckKind) -> Source:
        notify = self._guarded(kind.plural, partial(self._check, kind))
        return Reflector(self._transport, kind, CheckRecord, notify=notify, settings=self._reflectors)

    def _guarded(
        self, part: str, handle: Callable[[Change[RecordT]], None]
    ) -> Callable[[Change[RecordT]], None]:
        """A handler that one bad object does not end, and with it the reflector, and the process."""
        return self._cluster_state.guard.handler(part, lambda change: change.key, handle)

    def _node(self, name: TargetName, node: Node | None) -> None:
        with self._cluster_state.guard.item("nodes", name.name):
            if self._outages.node_changed(name, node, self.policy().outage_guard):
                self.refresh_context()  # before anybody is told that the target failed
            self._cluster_state.target_changed(name, node)
            for join in self._joins:
                join.node_changed(name, node)

    def _cluster_read(self, cluster: str) -> None:
        with self._cluster_state.guard.item("clusters", cluster):
            for join in self._joins:
                join.cluster_read(cluster)

    def _cluster_forgotten(self, cluster: str) -> None:
        with self._cluster_state.guard.item("clusters", cluster):
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
        """Why it is not known well enough what signals upgrades; "" if it is."""
        return self._context.unread_signals(self.policy().staleness_limit)

    @property
    def serves_signals(self) -> bool:
        """Whether anything is served that can signal an upgrade."""
        return self._context.serves_signals

    def refresh_context(self) -> None:
        """Take in what the cluster context is now."""
        context = UNJUDGED
        with self._cluster_state.guard.item("cluster context", "cluster"):
            known = replace(self._context.now(), upgrade_pause=self._pause_progress())
            context = self._with_outages(self._with_workloads(known))
        self._cluster_state.take_context(context)

    def _with_workloads(self, context: ClusterContext) -> ClusterContext:
        """The context with what is known of other clusters, which `context` says are to be watched."""
        if self._workloads is None:
            return context
        self._workloads.name(self._wanted_clusters(context), self._tasks)
        limit = self.policy().staleness_limit
        reconnected = self._workloads.look(limit)
        return replace(context, reconnected=reconnected, unreachable=self._workloads.unreachable(limit))

    def _with_outages(self, context: ClusterContext) -> ClusterContext:
        """The context with what the outage guard of the policy says; while that is off, nothing is held."""
        policy = self.policy()
        self._own_nodes.look(policy.staleness_limit)
        in_force = context.policy if self._policy_watch else PolicyInForce(policy)
        known = replace(context, outages=self._outages.look(in_force, self._now()))
        until = self._own_nodes.blind_time.until
        if policy.outage_guard is None or until is None:
            return known
        return replace(known, reconnected={**context.reconnected, MANAGEMENT_CLUSTER: until})

    def _wanted_clusters(self, context: ClusterContext) -> dict[str, SecretField]:
        """Those that a check rests on, and where the kubeconfig of each is."""
        wanted = {}
        for check_state in self._cluster_state.checks.values():
            cluster, kubeconfig = check_state.node_cluster_in(context), check_state.kind.kubeconfig
            if cluster != MANAGEMENT_CLUSTER and kubeconfig is not None:
                wanted[cluster] = kubeconfig(cluster)
        return wanted

    def _report_problems(self) -> None:
        for part, source in self._base.items():
            unread = "" if source.synced else "not read completely yet"
            self._problems.report(part, source.problem or unread)
        for part, source in self._context.sources.items():
            unread = "" if source.synced else "not read completely yet"
            self._problems.report(part, (source.problem or unread) if source.is_served else "")


def _oldest(sources: Iterable[Source]) -> timedelta | None:
    ages = [source.age() if source.synced else None for source in sources]
    known = [age for age in ages if age is not None]
    return max(known) if len(known) == len(ages) else None
