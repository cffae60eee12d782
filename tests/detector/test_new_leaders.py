"""Which Events of old failures a new leader emits: only those that no earlier leader emitted."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from detector.reporting.status_reporter import StatusReporter
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.cluster.upgrade import UpgradePhase
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.node import Node
from health.model.target import TargetName
from health.policy.policy_in_force import SHADOW
from kube.resource import EVENTS
from objects.timestamps import stamp
from tests.detector import status_reporting
from tests.detector.status_reporting import CHECK, STATUS, cluster_state, now, reporter
from tests.support.api.api_server import ApiServer, said
from tests.support.api.eventually import eventually
from tests.support.values.builders import check_object, condition, node_object

__all__ = ["cluster_state", "reporter"]

HOUR = timedelta(hours=1)
REPORTED = {
    "phase": "Enabled",
    "reason": "NHC is enabled, no ongoing remediation",
    "observedNodes": 1,
    "healthyNodes": 0,
    "unhealthyNodeCount": 1,
    "conditions": [{"type": "Disabled", "status": "False", "reason": "NodeHealthCheckEnabled"}],
}

Emitted = Callable[[], list[str]]


@pytest.fixture
def emitted(server: ApiServer, cluster_state: ClusterState) -> Emitted:
    """The Events about the failure of a Node, which happened five hours ago."""
    failed = condition("Ready", "Unknown", now() - 5 * HOUR)
    body = node_object(failed, labels={"role": "worker"}, name="node-1", uid="uid-1")
    cluster_state.target_changed(TargetName("Node", "", "node-1"), Node.model_validate(body))
    server.answer("PATCH", STATUS, said({}))
    events = EVENTS.path("default")

    def reasons() -> list[str]:
        found = [asked.body["reason"] for asked in server.asked if asked.path == events]
        return [reason for reason in found if reason == "DetectedUnhealthy"]

    return reasons


def put_check(
    cluster_state: ClusterState, created: datetime, status: dict[str, Any], **annotations: str
) -> None:
    """Pass the stored check to the state, as a watch would do."""
    body = check_object(minHealthy="0%") | {"status": status}
    body["metadata"] |= {"generation": 4, "creationTimestamp": stamp(created), "annotations": annotations}
    cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))


@asynccontextmanager
async def leading(reporter: StatusReporter, led_until: datetime | None) -> AsyncIterator[None]:
    """A leader that starts now, after another one that led until `led_until`."""
    state = reporter.cluster_state
    await eventually(lambda: state.cluster_context.upgrade.phase is UpgradePhase.NEVER)
    reporter.led_until = lambda: led_until
    async with status_reporting.leading(reporter):
        yield


def writes(server: ApiServer) -> int:
    return sum(asked.path == STATUS for asked in server.asked)


@pytest.mark.rule("rule 53")
@pytest.mark.parametrize(
    ("created", "led_until", "status"),
    [
        pytest.param(timedelta(), timedelta(minutes=-1), {}, id="the check is new"),
        pytest.param(2 * HOUR, 3 * HOUR, REPORTED, id="no detector led when it was made"),
        pytest.param(9 * HOUR, 6 * HOUR, REPORTED, id="no detector led when the Node failed"),
        pytest.param(9 * HOUR, None, REPORTED, id="no detector has ever led"),
        pytest.param(9 * HOUR, timedelta(), {}, id="no detector has written its status"),
    ],
)
async def test_leader_emits_what_no_leader_before_it_did(
    reporter: StatusReporter,
    emitted: Emitted,
    created: timedelta,
    led_until: timedelta | None,
    status: dict[str, Any],
) -> None:
    put_check(reporter.cluster_state, now() - created, status)
    async with leading(reporter, None if led_until is None else now() - led_until):
        await eventually(emitted)
    assert emitted() == ["DetectedUnhealthy"]


@pytest.mark.rule("rule 53")
async def test_restart_repeats_no_event_and_a_check_that_leaves_shadow_emits_those_of_its_targets(
    server: ApiServer, cluster_state: ClusterState, reporter: StatusReporter, emitted: Emitted
) -> None:
    put_check(cluster_state, now() - 9 * HOUR, REPORTED)
    async with leading(reporter, now()):
        await eventually(lambda: writes(server) > 0)  # its first report, which follows its Events
        assert emitted() == []
        put_check(cluster_state, now() - 9 * HOUR, REPORTED, **{SHADOW: "true"})
        reporter.changed(CHECK, None)
        await eventually(lambda: not reporter.queue.waits(CHECK))
        put_check(cluster_state, now() - 9 * HOUR, REPORTED)
        reporter.changed(CHECK, None)
        await eventually(emitted)
    assert emitted() == ["DetectedUnhealthy"]
