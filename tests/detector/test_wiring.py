"""Handlers are connected after all parts exist: constructing one part has no effect on another."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from detector.answers.storms import Storms
from detector.attempts.attempts import Attempts
from detector.attempts.unrequested_ends import UnrequestedEnds
from detector.detector import Detector, build
from detector.parts import Parts
from detector.state.cluster_state import ClusterState
from detector.state.event_handlers import MOST_AT_ONCE
from health.cluster.upgrade import UpgradeSignal
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.node import Node
from health.model.target import TargetName, node_name
from health.policy.maintenance_windows import MaintenanceWindow
from health.policy.policy import Policy
from kube.connection import ClusterConnection, WorkloadConnections
from kube.transport import Transport
from runtime.connections import Connections
from runtime.problems import Problems
from runtime.settings import Settings
from runtime.temporal_link import TemporalLink
from tests.support.api.api_server import ApiServer
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK
from tests.support.state.sources import Sources, Watched
from tests.support.values.builders import NOW, node_object


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[ClusterConnection]:
    async with ApiServer(tmp_path) as server, await Transport.connect(str(server.kubeconfig)) as transport:
        yield ClusterConnection.over(transport)


def connections_over(connection: ClusterConnection) -> Connections:
    problems = Problems()
    link, registry = TemporalLink("tests", problems), CollectorRegistry()
    others = WorkloadConnections(connection.client)
    return Connections(
        management=connection,
        workload_clusters=others,
        cluster="c",
        temporal=link,
        problems=problems,
        metrics=registry,
    )


def make(settings: Settings, connection: ClusterConnection) -> Parts:
    return build(settings, connections_over(connection), Policy)


async def test_storms_handle_a_change_before_the_parts_that_read_them(
    connection: ClusterConnection,
) -> None:
    parts = make(Settings(cluster="c"), connection)

    names = [
        getattr(handler, "__qualname__", "") for handler in parts.cluster_state.event_handlers.of_changes
    ]
    assert all(reason for _, reason in parts.change_handlers())
    assert names == [
        "Storms.changed",
        "UnrequestedEnds.changed",
        "RemediationLimits.changed",
        "Dispatch.changed",
        "StatusReporter.changed",
        "TargetReporter.changed",
        "SharedNames.changed",
    ]


async def test_what_the_feeds_read_reaches_the_state_and_the_cluster_context(
    connection: ClusterConnection,
) -> None:
    parts = make(Settings(cluster="c"), connection)
    state, handlers = parts.cluster_state, parts.feeds.handlers
    node = Node.model_validate(node_object(name="node-1"))

    handlers.nodes.node_changed(node_name("node-1"), node)
    handlers.context_changed()

    assert state.targets.at(node_name("node-1").place) == {"node-1": node}
    assert not state.cluster_context.policy.is_known  # its ConfigMap was not read yet


async def test_node_that_a_machine_expects_reaches_the_watch_of_lost_nodes(
    connection: ClusterConnection,
) -> None:
    parts = make(Settings(cluster="c"), connection)
    machine = TargetName("Machine", "machines", "a")
    parts.feeds.own_nodes.were_notified = True

    parts.cluster_state.linked_nodes.link(machine, node_name("node-1"))

    assert parts.context.lost_nodes.is_lost(node_name("node-1"))


async def test_detector_that_runs_notifies_handlers_of_many_targets(
    connection: ClusterConnection,
) -> None:
    parts = make(Settings(cluster="c"), connection)
    state = parts.cluster_state
    running = asyncio.create_task(Detector(parts).run())
    names, heard = {f"node-{number}" for number in range(2 * MOST_AT_ONCE)}, set[str | None]()
    state.event_handlers.add_change_handler(lambda _, target: heard.add(target))

    state.resync.add((), {CHECK: names})
    await eventually(lambda: heard == names)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.mark.rule("rule 38")
async def test_watched_kinds_are_those_of_the_settings(connection: ClusterConnection) -> None:
    signal = UpgradeSignal.parse("example.com/v1/Fleet/Settled=False")
    settings = Settings(
        cluster="c",
        lease_namespace="leases",
        namespace="ours",
        check_kinds=(MACHINE_HEALTH_CHECK,),
        upgrade_signals=(signal,),
    )
    parts = make(settings, connection)

    names = [*(source.name for source in parts.feeds.watched.all), *parts.feeds.context.sources]
    assert names == [
        "nodes",
        "leases.coordination.k8s.io in leases",
        "machinehealthchecks.machine.openshift.io",
        "machines.machine.openshift.io",
        "namespaces with metadata.name=leases",
        "Fleet (example.com/v1)",
        "configmaps in ours with metadata.name=paramedic-policy",
    ]


async def test_part_that_is_made_asks_for_nothing_and_leaves_all_others_as_they_were(
    connection: ClusterConnection,
) -> None:
    cluster_state = ClusterState("c")
    before = {name: repr(value) for name, value in vars(cluster_state).items()}
    attempts = Attempts(Policy, cluster_state, lambda: NOW)
    Sources(connection, cluster_state, Watched(), Problems(), Policy)
    Storms(cluster_state, lambda _: True, lambda: NOW)
    UnrequestedEnds(cluster_state, attempts, lambda _: True, lambda: NOW)

    assert {name: repr(value) for name, value in vars(cluster_state).items()} == before


async def test_sources_look_which_maintenance_windows_are_open(connection: ClusterConnection) -> None:
    always = {"name": "always", "schedule": "* * * * *", "duration": "1h", "remediation": "Blocked"}
    policy = Policy(maintenance_windows=(MaintenanceWindow.model_validate(always),))
    cluster_state = ClusterState("c")
    Sources(connection, cluster_state, Watched(), Problems(), lambda: policy).context.refresh()
    assert cluster_state.cluster_context.open_windows == {"always"}
