"""A clock skew holds every incident that depends on time, by the clock of the API server."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import cast

import pytest
from prometheus_client import CollectorRegistry
from temporalio.testing import ActivityEnvironment

from detector.answers.answering import Answering
from detector.context.clock_watch import ClockWatch
from detector.context.sources_of_checks import CheckFreshness
from detector.detector import build
from detector.dispatching.dispatch import Dispatch
from detector.metrics.live_metrics import ClockMetrics, LiveMetrics
from health.model.admission import Intent
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import IncidentReference, TargetReference
from health.policy.policy import Policy
from kube.connection import ClusterConnection, WorkloadConnections
from kube.server_clock import ServerClock
from kube.transport import Transport
from runtime.connections import Connections
from runtime.problems import Problems
from runtime.settings import Settings
from runtime.temporal_link import TemporalLink
from tests.detector import test_ended_incidents
from tests.detector.test_ended_incidents import NODE
from tests.support.api.api_server import ApiServer
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, incident_reference, seen, without_limits
from tests.support.values.metric_samples import Series, named, scrape, series
from workflows.contracts import ObserveInput

TARGET = TargetReference(kind="Node", name="node-1", uid="uid-node-1")
INCIDENT = IncidentReference(cluster="main-0a1b", check=CHECK, target=TARGET)
SKEW = series("paramedic_clock_skew_seconds")


class Detector:
    """A detector whose node failed an hour ago, and an API server; `answered` is an answer of it."""

    def __init__(self) -> None:
        self.cluster = SmallCluster()
        self.cluster.check()
        for name in ("node-1", "node-2", "node-3"):
            self.cluster.node(name, since=self.cluster.now)
        self.cluster.node("node-1", ready="Unknown", since=self.cluster.now - timedelta(hours=1))
        self.seconds = 0.0
        self.ahead = timedelta(0)
        self.woken = 0
        clock = ServerClock(lambda: self.now, lambda: self.seconds)
        self.server_clock = clock
        self.watch = ClockWatch(clock, self.wake)
        self._registry = CollectorRegistry()
        self._registry.register(ClockMetrics(lambda: self.watch.reading().skew))

    @property
    def now(self) -> datetime:
        return self.cluster.now + timedelta(seconds=self.seconds) + self.ahead

    def wake(self) -> None:
        self.woken += 1

    def answered(self, after: float = 1.0) -> None:
        """Move the time, and record an answer of the API server."""
        self.seconds += after
        date = format_datetime(self.cluster.now + timedelta(seconds=self.seconds), usegmt=True)
        self.server_clock.note({"Date": date}, self.seconds)
        self.watch.look()

    def observe(self) -> Observation:
        freshness = CheckFreshness(clock=self.watch.hold())
        return self.cluster.observe("node-1", now=self.now, freshness=freshness)

    def scrape(self) -> dict[Series, float]:
        return scrape(self._registry)


@pytest.fixture
def detector() -> Detector:
    made = Detector()
    made.answered()
    return made


@pytest.mark.rule("rule 3")
def test_clock_that_is_off_holds_the_incident_until_it_is_right(detector: Detector) -> None:
    assert detector.observe().may_be_admitted

    detector.ahead = timedelta(seconds=40)
    detector.answered()
    observation = detector.observe()
    assert observation.state is TargetState.UNKNOWN
    assert observation.hold is not None
    assert observation.hold.reason is HoldReason.CLOCK_SKEW
    assert "39s ahead of the API server's" in observation.hold.message  # the least possible skew

    detector.ahead = timedelta(seconds=20)
    for _ in range(35):
        detector.answered()
    assert detector.observe().may_be_admitted


def test_step_backwards_holds_the_incident_until_the_clock_has_run_steadily(detector: Detector) -> None:
    detector.ahead = timedelta(seconds=-20)
    detector.watch.look()  # without a further answer
    hold = detector.observe().hold
    assert hold is not None
    assert hold.message.startswith("the detector's clock was set back by 20s, 0s ago")

    detector.answered(29)
    assert not detector.observe().may_be_admitted
    detector.answered(1)
    assert detector.observe().may_be_admitted


def test_healthy_node_does_not_rest_on_time_and_is_cleaned_up(detector: Detector) -> None:
    detector.ahead = timedelta(hours=1)
    detector.answered()
    detector.cluster.node("node-1", since=detector.cluster.now)
    assert detector.observe().state is TargetState.HEALTHY
    detector.cluster.delete_node("node-1")
    assert detector.observe().state is TargetState.GONE


def test_incidents_are_woken_when_the_hold_begins_and_when_it_ends(detector: Detector) -> None:
    for ahead, woken in ((10, 0), (40, 1), (41, 1), (15, 2)):
        detector.ahead = timedelta(seconds=ahead)
        detector.answered(100)
        detector.answered(100)  # a step backwards is over by then
        assert detector.woken == woken


def test_clock_skew_is_logged_once(detector: Detector, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "detector")
    for ahead in (1, 10, 12, 40, 45, 0):
        detector.ahead = timedelta(seconds=ahead)
        detector.answered(100)
        detector.answered(100)
    assert [record.getMessage() for record in caplog.records] == [
        "deadlines are judged by a clock that is off",
        "nothing is decided",
        "the detector's clock is right again",
    ]


def test_skew_is_a_metric_once_it_is_known() -> None:
    detector = Detector()
    assert detector.scrape() == {}
    detector.ahead = timedelta(seconds=7)
    detector.answered()
    assert detector.scrape() == {SKEW: pytest.approx(7, abs=1)}
    detector.ahead = timedelta(seconds=-40)
    assert detector.scrape() == {SKEW: pytest.approx(-40, abs=1)}


HAIR = timedelta(seconds=2)


@pytest.fixture
async def transport(tmp_path: Path) -> AsyncIterator[Transport]:
    async with ApiServer(tmp_path) as server, await Transport.connect(str(server.kubeconfig)) as connected:
        yield connected


@pytest.mark.rule("rule 4", "rule 41")
@pytest.mark.parametrize("off", [timedelta(seconds=-20), timedelta(0), timedelta(seconds=20)])
async def test_times_of_observations_are_those_of_the_api_servers_clock(
    transport: Transport, off: timedelta
) -> None:
    transport.server_clock = ServerClock()
    date = (datetime.now(UTC) + off).strftime("%a, %d %b %Y %H:%M:%S GMT")
    transport.server_clock.note({"Date": date}, transport.server_clock.monotonic())
    problems = Problems()
    link = TemporalLink("tests", problems)
    management = ClusterConnection.over(transport)
    others = WorkloadConnections(management.client)
    connections = Connections(
        management=management,
        workload_clusters=others,
        cluster="c",
        temporal=link,
        problems=problems,
        metrics=CollectorRegistry(),
    )
    parts = build(Settings(cluster="c"), connections, Policy)

    seen_at = parts.observe(incident_reference("c")).seen_at
    assert seen_at is not None
    assert abs(seen_at - datetime.now(UTC) - off) <= HAIR


class Told:
    def __init__(self) -> None:
        self.answers: list[Observation] = []

    def answer(
        self, incident: IncidentReference, observation: Observation, seen: Observation, intent: Intent
    ) -> Observation:
        assert seen.may_be_admitted
        assert intent == Intent()
        self.answers.append(without_limits(incident, observation, intent))
        return self.answers[-1]


@pytest.mark.rule("rule 4", "rule 41")
@pytest.mark.parametrize("is_off", [False, True])
async def test_no_admission_is_sent_by_a_temporal_whose_clock_is_off(*, is_off: bool) -> None:
    environment, told = ActivityEnvironment(), Told()
    environment.info = replace(environment.info, started_time=NOW + timedelta(minutes=7 if is_off else 0))
    answering = Answering(
        lambda _: seen(seen_at=NOW),
        cast("Dispatch", told),
        SmallCluster().cluster_state,
        lambda: True,
        lambda *_: None,
    )
    answer = await environment.run(answering.observe, ObserveInput(incident=incident_reference("c")))
    assert answer.is_admitted is not is_off
    assert [one.is_admitted for one in told.answers] == [not is_off]


@pytest.mark.rule("rule 4", "rule 41")
async def test_incident_is_woken_by_no_change_that_is_none_to_it_while_temporals_clock_is_off() -> None:
    made, environment = test_ended_incidents.Detector(), ActivityEnvironment()
    environment.info = replace(environment.info, started_time=made.now() + timedelta(minutes=7))
    answering = Answering(
        made.observe, made.dispatch, made.cluster.cluster_state, lambda: True, lambda *_: None
    )
    made.cluster.check(minHealthy=0)
    made.fail(NODE)
    leading = asyncio.create_task(made.dispatch.lead())
    await eventually(lambda: made.calls.names == [NODE])
    made.handed_out.clear()

    answer = await environment.run(answering.observe, ObserveInput(incident=incident_of(NODE)))
    assert answer.hold
    assert answer.hold.reason is HoldReason.CLOCK_SKEW
    made.dispatch.changed(CHECK, NODE)
    made.fail("another")
    await eventually(lambda: "another" in made.calls.names)
    assert made.calls.names == [NODE, "another"]
    assert [one.is_admitted for one in made.handed_out] == [False, True], "the first incident is not admitted"

    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


@pytest.mark.rule("rule 4", "rule 41")
@pytest.mark.rule("rule 3")
async def test_gauges_count_incidents_as_a_temporal_whose_clock_is_off_has_them_answered() -> None:
    made, registry = test_ended_incidents.Detector(), CollectorRegistry()
    state, dispatch = made.cluster.cluster_state, made.dispatch
    registry.register(LiveMetrics(state, dict, lambda: dispatch.open_incidents, lambda: True, made.now))
    answering = Answering(made.observe, dispatch, state, lambda: True, lambda *_: None)
    made.cluster.check(minHealthy=0)
    made.fail(NODE)
    held = {"check": str(CHECK), "reason": "ClockSkew", "trigger": "automated"}
    for off, phase, holds in (
        (timedelta(minutes=7), "Held", {series("paramedic_holds", **held): 1}),
        (timedelta(), "Admitted", {}),
    ):
        environment = ActivityEnvironment()
        environment.info = replace(environment.info, started_time=made.now() + off)
        await environment.run(answering.observe, ObserveInput(incident=incident_of(NODE)))
        shown = scrape(registry)
        assert shown[series("paramedic_open_incidents", check=str(CHECK), phase=phase)] == 1
        assert named(shown, "paramedic_holds") == holds
