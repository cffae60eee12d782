"""Events that wait in the queue while their check changes to shadow."""

import asyncio
from contextlib import suppress

import pytest

from detector.reporting import event_queue
from detector.reporting.event_queue import EventQueue
from kube.client import Client
from kube.rate_limiter import RateLimiter
from objects.event import Event, Severity
from tests.support.api.api_server import ApiServer, refused, said
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK
from tests.support.values.builders import NOW

EVENTS = "/api/v1/namespaces/default/events"


def event(message: str) -> Event:
    return Event(seed=message, severity=Severity.NORMAL, reason="DetectedUnhealthy", message=message)


async def test_forgotten_events_are_not_emitted_and_later_ones_are(
    server: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_queue, "TRY_AGAIN_SECONDS", 0.2)
    server.answer("POST", EVENTS, refused(500, "InternalError"), said({}))
    recorder = EventQueue(client, "one", CHECK, RateLimiter(50, 50.0, lambda: 0.0), lambda: NOW)
    recorder.emit([event("first"), event("second")], "check-uid")
    running = asyncio.create_task(recorder.run())
    await eventually(lambda: server.asked)
    recorder.forget()

    recorder.emit([event("third")], "check-uid")
    await eventually(lambda: len(server.asked) > 1)
    assert [asked.body["message"] for asked in server.asked] == ["first", "third"]
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
