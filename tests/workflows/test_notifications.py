"""Notifications of an incident: each is delivered beside it, and delays nothing."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from cli.doctor.finding import Finding
from cli.doctor.temporal import Temporal, undelivered_notifications
from health.model.moves import Outcome, Phase
from health.model.notification import DEFAULT_EVENTS, WantedEvents
from health.model.observation import HoldReason, Observation
from health.runbook.orders import ApproveOrder
from runtime import search_attributes
from tests.support.api.eventually import eventually
from tests.support.story import workers
from tests.support.story.fake_receiver import FakeReceiver
from tests.support.story.incident import IncidentDriver
from tests.support.story.polling import polled
from tests.support.story.settling import REAL_TIME, rests, settle
from tests.support.values.metric_samples import scrape, series
from tests.support.values.notifications import notification
from tests.support.values.observations import healthy, held
from tests.workflows.test_approval import needing
from worker.metrics_interceptor import MetricsInterceptor
from worker.worker_metrics import WorkerMetrics
from workflows.contracts import worker_queue
from workflows.notification import (
    GIVEN_UP_AFTER,
    NOT_DELIVERED,
    NOTIFICATION,
    NotificationInput,
    notification_workflow_id,
)

ONCALL = WantedEvents(receiver="oncall", events=DEFAULT_EVENTS, held_for_seconds=1800)


def told(observation: Observation) -> Observation:
    """The observation of a cluster whose policy has a receiver."""
    return observation.model_copy(update={"notifies": (ONCALL,)})


@pytest.fixture
async def told_incident(bare_incident: IncidentDriver) -> AsyncIterator[tuple[IncidentDriver, FakeReceiver]]:
    receiver, incident = FakeReceiver(), bare_incident
    async with incident.detector(), incident.worker(), receiver.worker(incident.client, incident.name):
        yield incident, receiver
        receiver.gate.open()


async def children(incident: IncidentDriver) -> int:
    started = EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
    return sum(event.event_type == started for event in await incident.events())


async def test_receiver_that_hangs_delays_neither_the_approved_step_nor_the_end(
    told_incident: tuple[IncidentDriver, FakeReceiver],
) -> None:
    incident, receiver = told_incident
    receiver.gate.close()
    await incident.start(told(needing()))
    await rests(incident, Phase.HELD)
    await incident.wake()
    await settle(incident)
    await incident.approve(ApproveOrder(step="first", identity="ada"))
    given = (await incident.state()).memory.orders[-1].given
    await incident.happens("created")
    assert incident.cluster.times("created")[0] - given < REAL_TIME
    await incident.sees(told(healthy()))
    assert await incident.outcome() is Outcome.REMEDIATED
    assert not receiver.told
    assert await children(incident) == 2

    receiver.gate.open()
    await eventually(lambda: len(receiver.told) == 2)
    assert sorted(receiver.events) == ["ApprovalRequired", "Remediated"]
    assert {one.notification.incident for one in receiver.told} == {incident.reference}
    assert len({one.notification.id for one in receiver.told}) == 2


async def test_long_hold_is_told_in_time_and_only_once(
    told_incident: tuple[IncidentDriver, FakeReceiver],
) -> None:
    incident, receiver = told_incident
    hours = timedelta(hours=2)
    await incident.start(told(held(HoldReason.STORM, again=hours)))
    await rests(incident, Phase.HELD)
    await incident.pass_time(timedelta(minutes=29))
    assert await children(incident) == 0
    await incident.pass_time(timedelta(minutes=2))
    await eventually(lambda: receiver.events == ["Held"])
    await incident.wake()
    await settle(incident)
    await incident.sees(told(healthy()))
    assert await incident.outcome() is Outcome.RECOVERED
    await eventually(lambda: receiver.events == ["Held", "Recovered"])
    assert await children(incident) == 2


async def test_cancel_while_a_notification_is_started_is_obeyed(
    told_incident: tuple[IncidentDriver, FakeReceiver],
) -> None:
    incident, receiver = told_incident
    await incident.start(told(needing()))
    await incident.handle.cancel()
    await incident.reaches(Phase.LEFT_ALONE)
    await incident.sees(told(healthy()))
    assert await incident.outcome() is Outcome.RECOVERED
    await eventually(lambda: "Recovered" in receiver.events)


async def finds(client: Client, cluster: str, what: str) -> bool:
    """True once `paramedic doctor` reports this an hour later; the lists of Temporal are a little late."""
    later = datetime.now(UTC) + timedelta(hours=1)

    async def ask() -> list[Finding]:
        found = await undelivered_notifications.findings(
            Temporal(client=client, clusters=[cluster], now=later)
        )
        return [finding for finding in found if what in finding.what]

    (finding,) = await polled(ask)
    return finding.reason == "NotificationsNotDelivered"


async def test_notification_is_given_up_after_an_hour_and_counted(time_skipping: WorkflowEnvironment) -> None:
    client, name, receiver, registry = (
        time_skipping.client,
        f"test-{uuid4().hex[:8]}",
        FakeReceiver(),
        CollectorRegistry(),
    )
    counting, receiver.is_failing = MetricsInterceptor(WorkerMetrics(registry)), True
    one = notification()
    asked = NotificationInput(cluster=name, receiver="oncall", notification=one)
    async with (
        workers.worker(client, name, [], interceptors=[counting]),
        receiver.worker(client, name, counting),
    ):
        handle = await client.start_workflow(
            NOTIFICATION,
            asked,
            id=notification_workflow_id(name, "oncall", one),
            task_queue=worker_queue(name),
            search_attributes=search_attributes.of_cluster(name),
        )
        await eventually(lambda: receiver.attempts > 1)
        waiting = "notifications: 1 have waited over a minute, 0 were given up within a day"
        assert await finds(client, name, waiting)
        while await time_skipping.fast_forward(handle, GIVEN_UP_AFTER / 2):
            await eventually(lambda: receiver.attempts > 0)
        with pytest.raises(WorkflowFailureError) as given_up:
            await handle.result()
    assert isinstance(given_up.value.cause, ApplicationError)
    assert given_up.value.cause.type == NOT_DELIVERED
    assert given_up.value.cause.message == (f"oncall did not get the notification {one.id}: it answered 500")
    lost = "notifications: 0 have waited over a minute, 1 were given up within a day"
    assert await finds(client, name, lost)
    counted = scrape(registry)
    assert counted[series("paramedic_notifications_total", result="GivenUp")] == 1
    assert counted[series("paramedic_notification_failures_total", problem="Rejected")] == receiver.attempts
