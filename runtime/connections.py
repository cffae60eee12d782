"""Connections: Kubernetes, the cluster's identity and Temporal, which both processes need first.

The first two are retried without a limit, and /readyz shows the reason; it is served from the start, like
/metrics. Temporal is tried once: work without Temporal does not wait for it.

Traces are configured by OpenTelemetry's own variables. Without an endpoint no module of OpenTelemetry is
imported, and no header is added to any workflow.
"""

import asyncio
import importlib.metadata
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from threading import Thread

from prometheus_client import CollectorRegistry, ProcessCollector
from temporalio.client import Interceptor

from kube.client import Client
from kube.connection import ClusterConnection, WorkloadConnections, read_cluster_identity
from kube.errors import KubernetesError
from kube.transport import Transport
from objects.clusters import INSTALLATION_LABEL
from runtime.exposition import TemporalMetrics, metrics_route, temporal_core
from runtime.payload_codec import PROCESS_DATA, PayloadKeys, with_keys
from runtime.problems import Problems, retry_forever
from runtime.serving import readiness_routes, serve
from runtime.settings import Settings, SettingsError
from runtime.temporal_link import TemporalLink

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
LAST_BATCH_SECONDS = 2.0
"""The longest time that a process waits at its end for the last spans."""


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
        connecting = partial(
            Transport.connect,
            user_agent=field_manager,
            most_kept=settings.most_kept_bytes,
            compression=False,
        )
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
            problems.report("start", None)
            async with WorkloadConnections(management.client) as workload_clusters:
                yield Connections(
                    management=management,
                    workload_clusters=workload_clusters,
                    cluster=cluster,
                    temporal=temporal,
                    problems=problems,
                    metrics=metrics,
                )


def is_asked_for(environment: Mapping[str, str]) -> bool:
    """True if there is an endpoint, and nothing turns traces off."""
    is_off = environment.get("OTEL_TRACES_EXPORTER") == "none"
    is_disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return any(environment.get(name) for name in ENDPOINTS) and not is_off and not is_disabled


@asynccontextmanager
async def traced(settings: Settings, service: str) -> AsyncIterator[tuple[Interceptor, ...]]:
    """The interceptors for a client of Temporal, for the time of the block; none without an endpoint.

    Raises:
        SettingsError: the packages are missing, or OpenTelemetry refuses one of its variables.

    """
    if not is_asked_for(os.environ):
        yield ()
        return
    # Only here: without traces, a process does not even load the packages.
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from temporalio.contrib.opentelemetry import TracingInterceptor  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(f"traces need `pip install paramedic[tracing]`: {error}") from error
    # It logs the headers that it cannot read, and these may be a password.
    logging.getLogger("opentelemetry.util.re").setLevel(logging.CRITICAL)
    ours = {
        "service.name": service,
        "service.version": importlib.metadata.version("paramedic"),
        "service.instance.id": settings.identity,
        "k8s.cluster.name": settings.cluster,
    }
    try:
        resource = Resource.create(ours).merge(OTELResourceDetector().detect())  # the environment comes first
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except (ValueError, RuntimeError) as error:
        raise SettingsError(f"a variable of OpenTelemetry cannot be used: {error}") from error
    try:
        yield (TracingInterceptor(provider.get_tracer("paramedic")),)
    finally:
        # A collector that hangs may not delay the end, so the thread is left behind.
        ending = Thread(target=provider.shutdown, daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, LAST_BATCH_SECONDS)
