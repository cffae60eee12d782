"""A StatusReporter with one check, on a scripted API server."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest

from detector.answers.storms import Storms
from detector.attempts.attempts import Attempts
from detector.reporting.event_reporter import EventReporter
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.reporting.status_reporter import StatusReporter
from detector.state.cluster_state import ClusterState
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.references import CheckReference
from health.policy.policy import Policy
from kube.client import Client
from kube.connection import ClusterConnection
from kube.rate_limiter import RateLimiter
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.api_server import NOT_SERVED, ApiServer, lines, said
from tests.support.api.eventually import eventually
from tests.support.state.sources import Sources, Watched
from tests.support.values.builders import check_object

CHECK = CheckReference(kind="NodeHealthCheck", name="workers")
STATUS = NODE_HEALTH_CHECKS.path(name="workers", subresource="status")


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def cluster_state() -> ClusterState:
    return ClusterState("test")


@pytest.fixture
async def reporter(
    server: ApiServer, transport: Transport, client: Client, cluster_state: ClusterState
) -> AsyncIterator[StatusReporter]:
    """A reporter that does not lead yet; its check was read."""
    workers = check_object()
    workers["metadata"]["resourceVersion"] = "5"
    for resource in (NODES, NODE_HEALTH_CHECKS, NAMESPACES, LEASES):
        path = resource.path("leases")
        items = [workers] if resource == NODE_HEALTH_CHECKS else []
        server.answer("GET", path, said({"metadata": {"resourceVersion": "10"}, "items": items}))
        server.watch(path, lines(then="silent"))
    for group in ("config.openshift.io", "machine.openshift.io", "example.com"):
        for rest in ("v1", "v1/clusterversions", "v1beta1", "v1beta1/machinehealthchecks"):
            server.answer("GET", f"/apis/{group}/{rest}", NOT_SERVED)
    server.answer("POST", EVENTS.path("default"), said({}, 201))
    sources = Sources(ClusterConnection.over(transport), cluster_state, Watched(), Problems(), Policy)
    made = StatusReporter(
        client=client,
        cluster_state=cluster_state,
        sources=sources.of_checks,
        storms=Storms(cluster_state, lambda _: True, now),
        snapshot_builder=SnapshotBuilder(cluster_state, Attempts(Policy, cluster_state, now).before),
        events=event_reporter(client, cluster_state),
        now=now,
        led_until=lambda: None,
    )
    watching = asyncio.create_task(sources.run())
    await eventually(lambda: CHECK in cluster_state.checks)
    yield made
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching


def event_reporter(client: Client, cluster_state: ClusterState) -> EventReporter:
    return EventReporter(
        client,
        cluster_state,
        instance="tests",
        namespace="paramedic-system",
        rate_limiter=RateLimiter(100, 10.0, time.monotonic),
        now=now,
    )


@asynccontextmanager
async def leading(reporter: StatusReporter) -> AsyncIterator[None]:
    """Report as the leader during the block."""
    tasks = [asyncio.create_task(lead()) for lead in (reporter.events.lead, reporter.lead)]
    await asyncio.sleep(0)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
