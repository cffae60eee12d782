"""Status and Events are retried no earlier than the API server's Retry-After allows."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from detector.answers.storms import Storms
from detector.attempts.attempts import Attempts
from detector.reporting.event_queue import EventQueue
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.reporting.status_reporter import ReporterDependencies, StatusReporter
from detector.state.cluster_state import ClusterState
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.references import CheckReference
from health.policy.policy import Policy
from kube.client import Client
from kube.connection import ClusterConnection
from kube.rate_limiter import RateLimiter
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES
from kube.transport import Transport
from objects.event import Event, Severity
from runtime.problems import Problems
from tests.support.api.api_server import NOT_SERVED, ApiServer, lines, refused, said
from tests.support.api.eventually import eventually
from tests.support.api.slept_time import SleptTime
from tests.support.state.sources import Sources, Watched
from tests.support.values.builders import check_object

CHECK = CheckReference(kind="NodeHealthCheck", name="workers")
STATUS = NODE_HEALTH_CHECKS.path(name="workers", subresource="status")
TOLD_SECONDS = 10
BUSY = refused(429, "TooManyRequests", **{"Retry-After": str(TOLD_SECONDS)})
CHANGED = refused(409, "Conflict", "workers")
BROKEN = refused(503, "ServiceUnavailable")
NOTE = Event(seed="the failure", severity=Severity.NORMAL, reason="DetectedUnhealthy", message="it failed")


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def cluster_state() -> ClusterState:
    return ClusterState("test")


@pytest.fixture
async def dependencies(
    server: ApiServer, transport: Transport, client: Client, cluster_state: ClusterState
) -> AsyncIterator[ReporterDependencies]:
    """The dependencies of a reporter, with its check on a scripted API server."""
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
    made = ReporterDependencies(
        client=client,
        cluster_state=cluster_state,
        sources=sources.of_checks,
        storms=Storms(cluster_state, lambda _: True, now),
        snapshot_builder=SnapshotBuilder(cluster_state, Attempts(Policy, cluster_state, now).before),
        rate_limiter=RateLimiter(100, 10.0, time.monotonic),
        instance="tests",
        now=now,
        led_until=lambda: None,
    )
    watching = asyncio.create_task(sources.run())
    await eventually(lambda: CHECK in cluster_state.checks)
    yield made
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching


@pytest.fixture
def reporter(dependencies: ReporterDependencies) -> StatusReporter:
    return StatusReporter(dependencies, CHECK)


@pytest.fixture
async def running(reporter: StatusReporter) -> AsyncIterator[None]:
    task = asyncio.create_task(reporter.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_status_is_sent_again_no_earlier_than_told(
    server: ApiServer, reporter: StatusReporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = SleptTime(monkeypatch, "detector.reporting.status_reporter")
    server.answer("PATCH", STATUS, slept.noting(BUSY))
    reporting = asyncio.create_task(reporter.run())
    await eventually(lambda: len(slept.gaps) > 2)
    reporting.cancel()
    assert min(slept.gaps) > TOLD_SECONDS


async def test_event_is_sent_again_no_earlier_than_told(
    server: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = SleptTime(monkeypatch, "detector.reporting.event_queue")
    server.answer("POST", EVENTS.path("default"), slept.noting(BUSY))
    event_queue = EventQueue(client, "tests", CHECK, RateLimiter(100, 10.0, time.monotonic), now)
    event_queue.emit([NOTE], "check-uid")
    recording = asyncio.create_task(event_queue.run())
    await eventually(lambda: len(slept.gaps) > 2)
    recording.cancel()
    assert min(slept.gaps) > TOLD_SECONDS


@pytest.mark.usefixtures("running")
async def test_status_that_is_only_behind_the_watch_is_no_warning(
    server: ApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "detector")
    server.answer("PATCH", STATUS, CHANGED, BROKEN)

    def levels() -> list[int]:
        return [record.levelno for record in caplog.records if record.message == "status not written yet"]

    await eventually(lambda: len(levels()) > 1, 10)
    assert levels()[:2] == [logging.DEBUG, logging.WARNING]
