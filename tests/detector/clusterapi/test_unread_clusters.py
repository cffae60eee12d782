"""Clusters that cannot be read hold the checks that depend on them, and their Machines are not reported."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from detector.answers.observation_builder import ObservationBuilder
from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.registry import WATCHED_KINDS
from detector.state.cluster_state import ClusterState
from detector.watched_kind import WatchedContext, WatchedKind
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.cluster.upgrade import UpgradeSignal
from health.kinds.clusterapi.cluster import CHECK, CLUSTERS, Cluster, Clusters, judge
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.clusterapi.machine import MACHINES
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.observation import TargetState
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.policy.policy import Policy
from kube.connection import ClusterConnection
from kube.reflector_settings import ReflectorSettings, Waits
from kube.resource import LEASES, NAMESPACES, NODES, group_version_path, resource_of
from kube.transport import Transport
from objects.group_kind import ServedKind
from objects.timestamps import stamp
from runtime.problems import Problems
from tests.support.api.api_server import Answer, ApiServer, lines, refused, said
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster_api import machine_object, named
from tests.support.state.sources import Sources, Watched
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import CREATED, NAMESPACE, REMEDIATE, check_object

pytestmark = pytest.mark.rule("rule 3", "rule 45/gates")

OF_NODES = CheckReference(kind="NodeHealthCheck", name="workers")
OFTEN = ReflectorSettings(waits=Waits(longest=timedelta(seconds=0.2)))
FORBIDDEN = refused(403, "Forbidden")
MANY = 500
READY = [
    {"type": type_, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    for type_ in ("ControlPlaneInitialized", "InfrastructureReady")
]
EDGE = {
    "apiVersion": V1BETA2,
    "kind": "Cluster",
    "metadata": {"name": "edge", "namespace": NAMESPACE, "uid": "cluster-uid", "resourceVersion": "9"},
    "status": {"conditions": READY},
}


def listed(*items: object) -> Answer:
    return said({"metadata": {"resourceVersion": "10"}, "items": list(items)})


class Observer:
    """Sources of two kinds of checks over a scripted API server, which does not serve Clusters yet."""

    def __init__(self, server: ApiServer, transport: Transport) -> None:
        self._server = server
        self.cluster_state = ClusterState("test")
        kinds = (NODE_HEALTH_CHECK, replace(CLUSTER_API_MACHINE_HEALTH_CHECK, kubeconfig=None))
        self.sources = Sources(
            ClusterConnection.over(transport),
            self.cluster_state,
            Watched(upgrade_signals=(), kinds=kinds, reflectors=lambda: OFTEN),
            Problems(),
            Policy,
        )
        served = [
            {"name": resource.plural, "kind": resource.kind, "namespaced": True}
            for resource in (CLUSTERS, MACHINES, CLUSTER_API_MACHINE_HEALTH_CHECK)
        ]
        for api_version in (V1BETA2, V1BETA1):
            server.answer("GET", group_version_path(api_version), said({"resources": served}))
        self.answer(resource_of(MACHINE_HEALTH_CHECK).path(), listed())
        for path in (LEASES.path("leases"), NODES.path(), NODE_HEALTH_CHECKS.path(), NAMESPACES.path()):
            self.answer(path, listed())
        asked_for = machine_object("a", annotations=REMEDIATE)
        self.answer(resource_of(MACHINES).path(), listed(asked_for))
        check = check_object(checks={"unhealthyMachineConditions": []})
        check["metadata"]["resourceVersion"] = "9"
        self.answer(resource_of(CLUSTER_API_MACHINE_HEALTH_CHECK).path(), listed(check))

    def answer(self, path: str, *answers: Answer) -> None:
        self._server.answer("GET", path, *answers)
        self._server.watch(path, lines(then="silent"))

    def state_of_machine(self) -> TargetState:
        target = TargetReference(
            kind="Machine", group=CLUSTERS.group, namespace=NAMESPACE, name="a", uid="uid-a"
        )
        incident = IncidentReference(cluster="test", check=named(), target=target)
        freshness = self.sources.of_checks.freshness(named())
        return (
            ObservationBuilder(
                cluster_state=self.cluster_state, incident=incident, freshness=freshness, now=NOW
            )
            .observation()
            .state
        )

    def is_seen(self, check: CheckReference) -> bool:
        freshness = self.sources.of_checks.freshness(check)
        is_fresh = freshness.unread is None
        return is_fresh and not freshness.inputs.unread_context


@pytest.fixture
async def observer(tmp_path: Path) -> AsyncIterator[Observer]:
    async with ApiServer(tmp_path) as server, await Transport.connect(str(server.kubeconfig)) as transport:
        yield Observer(server, transport)


async def settled(observer: Observer) -> asyncio.Task[None]:
    running = asyncio.create_task(observer.sources.run())
    async with asyncio.timeout(60):
        await observer.sources.wait_settled()
    return running


async def ended(running: asyncio.Task[None]) -> None:
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_machine_of_a_cluster_that_cannot_be_read_is_neither_healthy_nor_unhealthy(
    observer: Observer,
) -> None:
    observer.answer(resource_of(CLUSTERS).path(), FORBIDDEN)
    running = await settled(observer)
    assert observer.state_of_machine() is TargetState.UNKNOWN
    assert not observer.sources.of_checks.is_read(named())
    assert not observer.is_seen(named())
    assert observer.is_seen(OF_NODES)
    await ended(running)


async def test_first_list_of_many_clusters_is_judged_a_few_times(
    server: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[int] = []

    def judging(found: Sequence[Cluster], unreadable: int) -> Clusters:
        judged.append(len(found))
        return judge(found, unreadable)

    context = WatchedContext(CLUSTERS, Cluster, judging, gates_verdicts=True)
    monkeypatch.setitem(WATCHED_KINDS, CHECK, WatchedKind(cluster_context=context))
    contexts: list[object] = []
    connection = ClusterConnection.over(transport)
    watch = ClusterContextWatch(connection, "leases", (), [CHECK], lambda: contexts.append(watch.of_kinds()))
    await _listed(server, watch, CLUSTERS)
    assert judged[-1] == MANY
    assert len(judged) < MANY / 10


async def test_first_list_of_many_objects_that_signal_upgrades_is_few_changes(
    server: ApiServer, transport: Transport
) -> None:
    changes: list[None] = []
    signal = UpgradeSignal.parse(f"{V1BETA2}/Cluster/RollingOut=True")
    connection = ClusterConnection.over(transport)
    watch = ClusterContextWatch(connection, "leases", [signal], (), lambda: changes.append(None))
    await _listed(server, watch, CLUSTERS)
    assert 0 < len(changes) < MANY / 10


async def _listed(server: ApiServer, watch: ClusterContextWatch, kind: ServedKind) -> None:
    """Return when the first list of many objects was read, and one turn of the event loop has passed."""
    served = [{"name": kind.plural, "kind": kind.kind, "namespaced": True}]
    for api_version in (V1BETA2, V1BETA1):
        server.answer("GET", group_version_path(api_version), said({"resources": served}))
    metadata = {
        "namespace": NAMESPACE,
        "uid": "u",
        "resourceVersion": "9",
        "creationTimestamp": stamp(CREATED),
    }
    found = [EDGE | {"metadata": {"name": f"edge-{number}", **metadata}} for number in range(MANY)]
    server.answer("GET", resource_of(kind).path(), listed(*found))
    server.watch(resource_of(kind).path(), lines(then="silent"))
    (source,) = (source for source in watch.sources.values() if "cluster" in source.name.lower())
    running = asyncio.create_task(source.run())
    async with asyncio.timeout(60):
        await source.wait_synced()
    await asyncio.sleep(0)
    await ended(running)


async def test_machine_is_judged_once_its_cluster_was_read(observer: Observer) -> None:
    observer.answer(resource_of(CLUSTERS).path(), FORBIDDEN, listed(EDGE))
    running = await settled(observer)
    await eventually(lambda: observer.is_seen(named()))
    await eventually(lambda: observer.cluster_state.cluster_context.of_kinds[CHECK].by_name)
    # This test has no connection to it.
    assert observer.sources.of_checks.freshness(named()).unreachable is not None
    await ended(running)
