"""How often a status is written: on change, with a pause between two writes, for any number of nodes."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import TypeVar

import pytest
from aiohttp import web

from detector.reporting import status_reporter
from detector.reporting.snapshot_builder import rendered
from detector.reporting.status_reporter import GATHER, StatusReporter
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.check.check_snapshot import CheckSnapshot
from health.cluster.cluster_context import ClusterContext
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.node import Node
from health.model.remediation_request import TARGET_UID, RemediationRequest
from health.model.target import TargetName
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from kube.resource import Object
from objects.timestamps import stamp
from tests.detector.status_reporting import CHECK, STATUS, cluster_state, leading, now, reporter
from tests.support.api.api_server import ApiServer, refused, said
from tests.support.api.eventually import eventually
from tests.support.values.builders import check_object, condition, node_object

__all__ = ["cluster_state", "reporter"]

T = TypeVar("T")

NODES_IN_ALL = 40
UNHEALTHY = 24
HEARTBEATS = 20
SHORTEST_PAUSE = 0.5
"""Seconds between two writes."""
NAMES = [f"node-{number}" for number in range(NODES_IN_ALL)]


class Written:
    """The stored status of the check, and the times of its writes; each write appears in a watch."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self.check = check_object(minHealthy="100%")
        self.times: list[float] = []
        """When each write arrived, by the monotonic clock."""
        self.pauses: list[float] = []
        """Seconds from the answer to a write to the arrival of the next one."""
        self._answered: float | None = None

    async def patch(self, request: web.Request) -> web.StreamResponse:
        self.times.append(time.monotonic())
        if self._answered is not None:
            self.pauses.append(self.times[-1] - self._answered)
        body = json.loads(await request.text())
        self.check["status"] = self.check.get("status", {}) | body["status"]
        self.show()
        self._answered = time.monotonic()
        return await said(self.check)(request)

    def show(self) -> None:
        self.check["metadata"]["resourceVersion"] = str(10 + len(self.times))
        record = CheckRecord.model_validate(self.check)
        self._cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, record)

    @property
    def status(self) -> Object:
        status: Object = self.check.get("status", {})
        return status

    def is_so(self, healthy: int) -> bool:
        listed = len(self.status.get("unhealthyNodes") or ())
        return (self.status.get("healthyNodes"), listed) == (healthy, NODES_IN_ALL - healthy)


@pytest.fixture
async def written(
    cluster_state: ClusterState, reporter: StatusReporter, server: ApiServer
) -> AsyncIterator[Written]:
    """The reporter of a check over many healthy nodes."""
    made = Written(cluster_state)
    server.answer("PATCH", STATUS, made.patch)
    for name in NAMES:
        see(cluster_state, name)
    made.show()
    cluster_state.event_handlers.add_change_handler(reporter.changed)
    async with leading(reporter):
        await eventually(lambda: made.is_so(NODES_IN_ALL))
        made.times.clear()
        yield made


def see(
    cluster_state: ClusterState, name: str, ready: str = "True", heard_of: datetime | None = None
) -> None:
    """Change a node, as of the time of that heartbeat."""
    beat = {"lastHeartbeatTime": stamp(heard_of or now())}
    body = node_object(
        condition("Ready", ready) | beat, labels={"role": "worker"}, name=name, uid=f"uid-{name}"
    )
    cluster_state.target_changed(TargetName("Node", "", name), Node.model_validate(body))


@pytest.mark.rule("NHC 1.2/patch", "rule 6")
async def test_status_of_many_nodes_is_written_after_a_pause_and_never_for_a_heartbeat(
    written: Written, cluster_state: ClusterState
) -> None:
    for name in NAMES[:UNHEALTHY]:
        see(cluster_state, name, "Unknown")
        await asyncio.sleep(GATHER.total_seconds() / 2)  # enough time for a separate write of each
    await eventually(lambda: written.is_so(NODES_IN_ALL - UNHEALTHY))
    assert min(written.pauses) >= SHORTEST_PAUSE

    written.times.clear()
    later = now() + timedelta(seconds=10)
    for name in NAMES[:HEARTBEATS]:
        see(cluster_state, name, "Unknown", later)
        await asyncio.sleep(GATHER.total_seconds() / 2)
    see(cluster_state, NAMES[0])  # a later change shows that the heartbeats were processed
    await eventually(lambda: written.is_so(NODES_IN_ALL - UNHEALTHY + 1))
    assert len(written.times) == 1


def rendering_late(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> list[CheckSnapshot]:
    """Make the change while a report is rendered; return the rendered snapshots."""
    snapshots: list[CheckSnapshot] = []

    async def rendered_late(snapshot: CheckSnapshot, render: Callable[[], T]) -> T:
        snapshots.append(snapshot)
        change()
        return await rendered(snapshot, render)

    monkeypatch.setattr(status_reporter, "rendered", rendered_late)
    return snapshots


def request_of_the_check(node: str, *, uid: str) -> RemediationRequest:
    owner = {"apiVersion": NODE_HEALTH_CHECK.api_version, "kind": CHECK.kind, "name": CHECK.name, "uid": "u"}
    times = {"creationTimestamp": stamp(now())}
    metadata = {"name": node, "namespace": "ns", "uid": uid, "ownerReferences": [owner], **times}
    return RemediationRequest.model_validate({"metadata": {**metadata, "annotations": {TARGET_UID: "uid"}}})


@pytest.mark.rule("NHC 1.5/DetectedUnhealthy", "rule 15")
async def test_next_report_has_a_node_that_was_unhealthy_when_its_request_was_created(
    cluster_state: ClusterState,
    reporter: StatusReporter,
    server: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshots = rendering_late(monkeypatch, lambda: None)
    server.answer("PATCH", STATUS, said({}))
    cluster_state.event_handlers.add_request_handler(reporter.request_changed)
    async with leading(reporter):
        await eventually(lambda: snapshots)
        for ready in ("Unknown", "True"):
            see(cluster_state, NAMES[0], ready)
            request = request_of_the_check(NAMES[0], uid=ready)
            cluster_state.request_changed("example.com/v1", "Reboot", request, exists=True)
        reporter.changed(CHECK, NAMES[0])
        await eventually(lambda: len(snapshots) > 1)
    (target,) = (target for snapshot in snapshots for target in snapshot.requested)
    assert target.verdict.fact is not None
    assert (target.name, target.uid, target.verdict.fact.status) == (NAMES[0], f"uid-{NAMES[0]}", "Unknown")
    assert [request.uid for request in target.requests] == ["Unknown"]


async def test_check_that_is_deleted_while_its_report_is_rendered_gets_no_status(
    cluster_state: ClusterState,
    reporter: StatusReporter,
    server: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def delete() -> None:
        cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, None)
        reporter.changed(CHECK, None)

    snapshots = rendering_late(monkeypatch, delete)
    async with leading(reporter):
        await eventually(lambda: snapshots and not reporter.queue.waits(CHECK))
    assert len(snapshots) == 1
    assert "PATCH" not in {asked.method for asked in server.asked}


async def test_check_that_is_in_shadow_when_its_report_is_rendered_gets_no_status(
    cluster_state: ClusterState,
    reporter: StatusReporter,
    server: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shadow() -> None:
        cluster_state.take_context(ClusterContext(policy=PolicyInForce(policy=Policy(shadow=True))))
        reporter.changed(CHECK, None)

    snapshots = rendering_late(monkeypatch, shadow)
    async with leading(reporter):
        await eventually(lambda: len(snapshots) > 1)  # the first report has ended
    assert "PATCH" not in {asked.method for asked in server.asked}


async def test_status_that_the_api_server_refuses_is_written_again(
    reporter: StatusReporter, server: ApiServer
) -> None:
    server.answer("PATCH", STATUS, refused(409, "Conflict", "workers"), said({}))
    async with leading(reporter):
        await eventually(lambda: [asked.method for asked in server.asked].count("PATCH") == 2)
