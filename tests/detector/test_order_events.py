"""Events of orders, and Events that wait while their check changes to shadow or is deleted."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.reporting import report_queue
from detector.reporting.event_reporter import EventReporter, order_event
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.model.order import OrderRecord
from health.model.references import CheckReference, IncidentReference, TargetReference
from kube.client import Client
from kube.rate_limiter import RateLimiter
from objects.backoff import Backoff
from objects.event import Event, Severity
from tests.support.api.api_server import ApiServer, refused, said
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW

HELD = OrderRecord(
    order="hold", given=NOW, reason="disk swap", identity="ada@laptop", until=NOW + timedelta(hours=1)
)
SKIPPED = OrderRecord(order="skip", given=NOW, reason="", step="RebootTemplate/reboot", is_pending=True)


def test_event_names_check_order_person_reason_and_end() -> None:
    event = order_event(incident_of("node-1"), HELD)
    words = "NodeHealthCheck/workers: hold by ada@laptop: disk swap, until 2026-03-01T13:00:00Z"
    assert (event.severity, event.reason, event.message) == (Severity.NORMAL, "OrderReceived", words)
    assert event.subject is not None
    assert (event.subject.kind, event.subject.name, event.subject.uid) == ("Node", "node-1", "uid-node-1")


def test_refusal_is_another_event_and_a_repeated_question_is_not() -> None:
    incident = incident_of("node-1")
    received = order_event(incident, SKIPPED)
    assert order_event(incident, SKIPPED.model_copy(update={"is_pending": False})).seed == received.seed
    refused = order_event(incident, SKIPPED.model_copy(update={"refused": "no step runs"}))
    assert refused.seed != received.seed
    assert (refused.severity, refused.reason) == (Severity.WARNING, "OrderRefused")
    assert refused.message.endswith("skip RebootTemplate/reboot; refused: no step runs")


def test_event_of_a_machine_is_about_the_machine() -> None:
    kind = CLUSTER_API_MACHINE_HEALTH_CHECK
    check = CheckReference(kind=kind.kind, group=kind.group, namespace="fleet", name="workers")
    target = TargetReference(kind="Machine", group=kind.targets.group, namespace="fleet", name="m", uid="u")
    event = order_event(IncidentReference(cluster="c", check=check, target=target), HELD)
    assert event.subject is not None
    assert (event.subject.kind, event.subject.namespace) == ("Machine", "fleet")


EVENTS = "/api/v1/namespaces/default/events"


def event(message: str) -> Event:
    return Event(seed=message, severity=Severity.NORMAL, reason="DetectedUnhealthy", message=message)


@pytest.fixture
def cluster() -> SmallCluster:
    made = SmallCluster()
    made.check()
    return made


@pytest.fixture
async def reporter(
    cluster: SmallCluster, server: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[EventReporter]:
    """It leads, and the API server refuses its first Event."""
    monkeypatch.setattr(report_queue, "RETRIES", Backoff(timedelta(seconds=0.2), timedelta(seconds=1)))
    server.answer("POST", EVENTS, refused(500, "InternalError"), said({}))
    made = EventReporter(
        client,
        cluster.cluster_state,
        instance="one",
        namespace="paramedic-system",
        rate_limiter=RateLimiter(50, 50.0, lambda: 0.0),
        now=lambda: NOW,
    )
    running = asyncio.create_task(made.lead())
    await asyncio.sleep(0)
    assert made.emit(CHECK, [event("first"), event("second")])
    yield made
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(
    "ends", [pytest.param(EventReporter.forget, id="shadow"), pytest.param(None, id="deleted")]
)
async def test_events_of_a_check_that_ends_are_not_emitted_and_later_ones_are(
    cluster: SmallCluster,
    reporter: EventReporter,
    server: ApiServer,
    ends: Callable[[EventReporter, CheckReference], None] | None,
) -> None:
    await eventually(lambda: server.asked)
    if ends is not None:
        ends(reporter, CHECK)
    else:
        cluster.delete_check()
        await asyncio.sleep(0.5)  # it is tried again meanwhile
        assert not reporter.emit(CHECK, [event("of no check")])
        cluster.check()

    assert reporter.emit(CHECK, [event("third")])
    await eventually(lambda: len(server.asked) > 1)
    assert [asked.body["message"] for asked in server.asked] == ["first", "third"]
