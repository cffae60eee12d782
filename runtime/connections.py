"""Connections: Kubernetes, the cluster's identity and Temporal, which both processes need first.

The first two are retried without a limit, and /readyz shows the reason; it is served from the start, like
/metrics. Temporal is tried once: work without Temporal does not wait for it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry, ProcessCollector

from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import KubernetesError
from kube.transport import Transport
from kube.workload_connections import WorkloadConnections
from objects.clusters import INSTALLATION_LABEL
from runtime.cluster import read_cluster_identity
from runtime.exposition import TemporalMetrics, metrics_route, temporal_core
from runtime.payload_codec import with_keys
from runtime.payload_keys import PayloadKeys
from runtime.plain_payloads import PROCESS_DATA
from runtime.problems import Problems, retry_forever
from runtime.serving import readiness_routes, serve
from runtime.settings import Settings
from runtime.temporal_link import TemporalLink
from runtime.tracing import traced


@dataclass(frozen=True, kw_only=True)
class Connections:
    """All connections of one process, with its problems and metrics."""

    management: ClusterConnection
    """The connection to the cluster of the checks."""
    workload_clusters: WorkloadConnections
    """The connections to the clusters of the targets' Nodes."""
    cluster: str
    """The identity of the management cluster."""
    temporal: TemporalLink
    problems: Problems
    metrics: CollectorRegistry
    """The metrics of GET /metrics; each part of the process registers its own."""


@asynccontextmanager
async def connected(settings: Settings, field_manager: str) -> AsyncIterator[Connections]:
    """The connections of a process, for the time of the block.

    Raises:
        SettingsError: a setting is invalid.

    """
    converter = with_keys(PayloadKeys.read(settings.payload_keys_file), PROCESS_DATA)
    problems = Problems()
    problems.report("start", "connecting")
    metrics = CollectorRegistry()
    ProcessCollector(registry=metrics)
    core = temporal_core()
    routes = [*readiness_routes(problems), metrics_route(metrics, core.metrics)]
    async with traced(settings, field_manager) as interceptors, serve(settings.ready_address, routes):
        connecting = partial(Transport.connect, user_agent=field_manager, most_kept=settings.most_kept_bytes)
        transport = await retry_forever("kubernetes", connecting, (KubernetesError,), problems)
        async with transport:
            read_identity = partial(read_cluster_identity, Client(transport), settings.cluster)
            cluster = await retry_forever("cluster", read_identity, (KubernetesError,), problems)
            labels = {INSTALLATION_LABEL: cluster}
            management = ClusterConnection.over(transport, field_manager, labels=labels)
            temporal = TemporalLink(
                settings.identity, problems, core.runtime, converter=converter, interceptors=interceptors
            )
            metrics.register(TemporalMetrics(temporal.trouble))
            await temporal.try_once()
            problems.report("start", "")
            async with WorkloadConnections(management.client) as workload_clusters:
                yield Connections(
                    management=management,
                    workload_clusters=workload_clusters,
                    cluster=cluster,
                    temporal=temporal,
                    problems=problems,
                    metrics=metrics,
                )
