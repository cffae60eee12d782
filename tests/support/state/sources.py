"""Sources: the feeds and the context of a detector over any cluster state, with the settings of a test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from detector.context.context import Context
from detector.context.sources_of_checks import SourcesOfChecks
from detector.feeds.feed_handlers import FeedHandlers
from detector.feeds.feeds import feeds_of
from detector.feeds.node_watch import BlindTime
from detector.feeds.policy_feed import PolicyFeed
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.source import Source
from detector.feeds.workload_clusters import WorkloadAccess
from detector.state.cluster_state import ClusterState
from health.cluster.cluster_identity import NOT_KNOWN, KnownCluster
from health.cluster.upgrade import CLUSTER_VERSION, UpgradeSignal
from health.kinds.check_kind import CheckKind
from health.kinds.registry import HANDLED_BY_DEFAULT
from health.policy.policy import CurrentPolicy, Policy
from health.policy.policy_in_force import PolicyInForce
from kube.connection import ClusterConnection
from kube.errors import NotConfigured
from kube.reflector_settings import CurrentSettings, ReflectorSettings, patient
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


class FixedPolicy(PolicyFeed):
    """A policy without a ConfigMap, and the settings of the reflectors of a test."""

    def __init__(self, policy: CurrentPolicy, reflectors: CurrentSettings) -> None:
        self._policy, self._reflectors = policy, reflectors

    @property
    def sources(self) -> tuple[Source, ...]:
        return ()

    def current(self) -> Policy:
        return self._policy()

    def reflectors(self) -> ReflectorSettings:
        return self._reflectors()

    def look(self) -> PolicyInForce:
        return PolicyInForce(policy=self._policy())


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
        policy_feed = FixedPolicy(policy, watched.reflectors)
        self.feeds = feeds_of(
            connection,
            cluster_state,
            policy=policy_feed,
            kinds=RemediationKinds(connection, cluster_state, policy_feed.reflectors),
            handlers=FeedHandlers(),
            lease_namespace=watched.lease_namespace,
            upgrade_signals=watched.upgrade_signals,
            check_kinds=watched.kinds,
            workload_clusters=watched.workload_clusters,
        )
        self.context = Context(
            cluster_state=cluster_state,
            feeds=self.feeds,
            server_clock=connection.server_clock,
            blind_time=watched.blind_time,
            known_cluster=watched.known_cluster,
            pause_progress=lambda: None,
        )
        self.context.connect()
        self._earlier, self._problems = watched.blind_time(connection.cluster), problems

    @property
    def of_checks(self) -> SourcesOfChecks:
        return self.context.sources

    async def run(self) -> None:
        await self.feeds.run(self._problems, self._earlier)

    async def wait_settled(self) -> None:
        await self.feeds.wait_settled()

    def ages(self) -> dict[str, timedelta | None]:
        return self.feeds.ages()
