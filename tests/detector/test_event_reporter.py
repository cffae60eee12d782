"""Events on a real API server: emitted once over restarts, and again for a new failure."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from detector.reporting.event_reporter import EventReporter
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.references import CheckReference
from kube.client import Client
from kube.rate_limiter import RateLimiter
from kube.resource import EVENTS
from kube.transport import Transport
from objects.event import Event, Severity
from tests.support.values.builders import check_object

pytestmark = pytest.mark.cluster

CHECK = CheckReference(kind="NodeHealthCheck", name=f"check-{uuid.uuid4().hex[:8]}")
FAILED = Event(seed="the failure", severity=Severity.NORMAL, reason="DetectedUnhealthy", message="it failed")
SOON = timedelta(seconds=10)


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield Client(transport, "recorder-test")


async def told_after(client: Client, note: Event) -> int:
    """Let a new process emit the Event; return how many Events exist then."""
    end = uuid.uuid4().hex
    cluster_state = ClusterState("tests")
    cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(check_object()))
    reporter = EventReporter(
        client,
        cluster_state,
        instance="one",
        namespace="paramedic-system",
        rate_limiter=RateLimiter(50, 20.0, time.monotonic),
        now=lambda: datetime.now(UTC),
    )
    running = asyncio.create_task(reporter.lead())
    last = Event(seed=end, severity=Severity.NORMAL, reason="TheEnd", message=end)
    await asyncio.sleep(0)
    assert reporter.emit(CHECK, [note, last])

    async def is_over() -> bool:
        return end in await _messages(client)

    await until(is_over, within=SOON, otherwise="the end was never told")
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    return (await _messages(client)).count(note.message)


async def _messages(client: Client) -> list[str]:
    events = await client.list(EVENTS, "default")
    return [event["message"] for event in events if event["involvedObject"]["name"] == CHECK.name]


@pytest.mark.rule("rule 15")
async def test_failure_is_reported_again_only_where_it_was_seen_to_begin_again(client: Client) -> None:
    seen_to_begin = replace(FAILED, again="2026-03-01T12:00:00")
    seen_to_begin_again = replace(FAILED, again="2026-03-01T13:00:00")

    assert await told_after(client, seen_to_begin) == 1
    assert await told_after(client, FAILED) == 1  # the message of a restarted detector
    assert await told_after(client, seen_to_begin_again) == 2
    assert await told_after(client, seen_to_begin_again) == 2
    assert await told_after(client, FAILED) == 2
