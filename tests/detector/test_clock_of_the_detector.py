"""The detector tells the time by the API server: workers compare with that what it says to have seen."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from detector.answers.answering import Answering
from detector.detector import Detector
from detector.dispatching.incident_workflows import Observe
from health.gate.policy import Policy
from kube.connection import ClusterConnection
from kube.server_clock import ServerClock
from kube.transport import Transport
from kube.workload_connections import WorkloadConnections
from runtime.connections import Connections
from runtime.problems import Problems
from runtime.settings import Settings
from runtime.temporal_link import TemporalLink
from tests.kube.api_server import ApiServer
from tests.objects import incident_reference

pytestmark = pytest.mark.rule("rule 4", "rule 41")

HAIR = timedelta(seconds=2)


@pytest.fixture
async def transport(tmp_path: Path) -> AsyncIterator[Transport]:
    async with ApiServer(tmp_path) as server, await Transport.connect(str(server.kubeconfig)) as connected:
        yield connected


@pytest.mark.parametrize("off", [timedelta(seconds=-20), timedelta(0), timedelta(seconds=20)])
async def test_moment_at_which_something_was_seen_is_told_by_the_api_servers_clock(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, off: timedelta
) -> None:
    answers: list[Observe] = []

    def answering(observe: Observe, *others: Any) -> Answering:
        answers.append(observe)
        return Answering(observe, *others)

    monkeypatch.setattr("detector.detector.Answering", answering)
    transport.server_clock = ServerClock()
    date = (datetime.now(UTC) + off).strftime("%a, %d %b %Y %H:%M:%S GMT")
    transport.server_clock.note({"Date": date}, transport.server_clock.monotonic())
    problems = Problems()
    link = TemporalLink("tests", problems)
    management = ClusterConnection.over(transport)
    others = WorkloadConnections(management.client)
    connections = Connections(management, others, "c", link, problems, CollectorRegistry())
    Detector(Settings(cluster="c"), connections, Policy)

    (observe,) = answers
    seen_at = observe(incident_reference("c")).seen_at
    assert seen_at is not None
    assert abs(seen_at - datetime.now(UTC) - off) <= HAIR
