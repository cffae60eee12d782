"""Sources: the feeds and the context of a detector over any cluster state, with the settings of a test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from detector.context.cluster_notes import ClusterNotes
from detector.context.context import context_of
from detector.context.sources_of_checks import SourcesOfChecks
from detector.feeds.feed_handlers import FeedHandlers
from detector.feeds.feeds import FeedBuilder, WatchScope
from detector.feeds.node_watch import BlindTime
from detector.feeds.policy_feed import PolicyFeed
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.workload_clusters import WorkloadAccess
from detector.state.cluster_state import ClusterState
from health.cluster.cluster_identity import NOT_KNOWN, KnownCluster
from health.cluster.upgrade import CLUSTER_VERSION, UpgradeSignal
from health.kinds.check_kind import CheckKind
from health.kinds.registry import HANDLED_BY_DEFAULT
from health.policy.policy import CurrentPolicy
from kube.connection import ClusterConnection
from kube.errors import NotConfigured
from kube.reflector_settings import CurrentSettings, patient
from objects.clusters import SecretField
from runtime.problems import Problems


async def _connect(cluster: str, secret: SecretField) -> ClusterConnection:
    raise NotConfigured(f"the test connects to no other cluster: {cluster}, {secret}")


async def _close(cluster: str) -> None:
    """Close nothing, as no connection to `cluster` was made."""


NOT_CONNECTED = WorkloadAccess(_connect, _close, lambda _: BlindTime())


@dataclass(frozen=True, kw_only=True)
class Watched:
    """The parts of a cluster that a test watches, and the settings of the reflectors."""

    lease_namespace: str = "leases"
    upgrade_signals: Sequence[UpgradeSignal] = (CLUSTER_VERSION,)
    kinds: Sequence[CheckKind] = HANDLED_BY_DEFAULT
    reflectors: CurrentSettings = patient
    workload_clusters: WorkloadAccess = NOT_CONNECTED
    blind_time: Callable[[str], BlindTime] = lambda _: BlindTime()
    known_cluster: Callable[[str], KnownCluster] = lambda _: NOT_KNOWN


class Sources:
    """The feeds and the context, wired as in a detector without a ConfigMap for the policy."""

    def __init__(
        self,
        connection: ClusterConnection,
        cluster_state: ClusterState,
        watched: Watched,
        problems: Problems,
        policy: CurrentPolicy,
    ) -> None:
        handlers = FeedHandlers()
        policy_feed = PolicyFeed(defaults=policy, reflectors_for=lambda _: watched.reflectors())
        builder = FeedBuilder(
            connection=connection,
            cluster_state=cluster_state,
            policy=policy_feed,
            kinds=RemediationKinds(connection, cluster_state, policy_feed.reflectors),
            handlers=handlers,
        )
        scope = WatchScope(
            watched.lease_namespace, watched.upgrade_signals, watched.kinds, watched.workload_clusters
        )
        self.feeds = builder.build(scope)
        self.context = context_of(
            cluster_state,
            self.feeds,
            connection.server_clock,
            blind_time=watched.blind_time,
            known_cluster=watched.known_cluster,
            pause_progress=lambda: None,
        )
        self.context.add_handlers(cluster_state, self.feeds)
        self._earlier = watched.blind_time(connection.cluster)
        self._problems = problems

    @property
    def of_checks(self) -> SourcesOfChecks:
        return self.context.of_checks

    @property
    def notes(self) -> ClusterNotes:
        return self.context.notes

    async def run(self) -> None:
        await self.feeds.run(self._problems, self._earlier)

    async def wait_settled(self) -> None:
        await self.feeds.wait_settled()

    def ages(self) -> dict[str, timedelta | None]:
        return self.feeds.ages()
