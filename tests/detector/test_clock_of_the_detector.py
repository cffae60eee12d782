"""The detector uses the API server's clock: workers compare that clock with the time of an observation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from prometheus_client import CollectorRegistry
from temporalio.testing import ActivityEnvironment

from detector.answers.answering import Answering
from detector.detector import build
from detector.dispatching.dispatch import Dispatch
from detector.metrics.live_metrics import LiveMetrics
from health.model.admission import Intent
from health.model.observation import HoldReason, Observation
from health.model.references import IncidentReference
from health.policy.policy import Policy
from kube.connection import ClusterConnection, WorkloadConnections
from kube.server_clock import ServerClock
from kube.transport import Transport
from runtime.connections import Connections
from runtime.problems import Problems
from runtime.settings import Settings
from runtime.temporal_link import TemporalLink
from tests.detector import test_ended_incidents
from tests.detector.test_late_requests import NODE
from tests.support.api.api_server import ApiServer
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, incident_reference, seen, without_limits
from tests.support.values.metric_samples import named, scrape, series
from workflows.contracts import ObserveInput

pytestmark = pytest.mark.rule("rule 4", "rule 41")

HAIR = timedelta(seconds=2)


@pytest.fixture
async def transport(tmp_path: Path) -> AsyncIterator[Transport]:
    async with ApiServer(tmp_path) as server, await Transport.connect(str(server.kubeconfig)) as connected:
        yield connected


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
