"""KubeadmControlPlanes on a scripted API server signal upgrades of their own Clusters only."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest

from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.nodehealthcheck.kind import MACHINE_HEALTH_CHECKS
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import CLUSTER_VERSION, NEVER_UPGRADED, Upgrade, UpgradePhase
from health.kinds.clusterapi.cluster import CLUSTERS
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK, ROLLING_OUT
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from kube.connection import ClusterConnection
from kube.resource import NAMESPACES, NODES, resource_of
from kube.transport import Transport
from tests.support.api.api_server import FAR_AHEAD, NOT_SERVED, Answer, ApiServer, lines, refused, said
from tests.support.values.builders import condition

LIMIT = timedelta(minutes=1)
KINDS = (NODE_HEALTH_CHECK.group_kind, CLUSTER_API_MACHINE_HEALTH_CHECK.group_kind)
OPENSHIFT = "/apis/config.openshift.io/v1"
NEW, OLD = (f"/apis/{signal.api_version}" for signal in ROLLING_OUT)
SERVED = said(
    {"resources": [{"name": "kubeadmcontrolplanes", "kind": "KubeadmControlPlane", "namespaced": True}]}
)
EMPTY = said({"metadata": {"resourceVersion": "10"}, "items": []})


def control_plane(name: str, status: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        "name": f"{name}-control-plane",
        "namespace": "fleet",
        "uid": f"uid-{name}",
        "resourceVersion": "9",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"cluster.x-k8s.io/cluster-name": name},
    }
    return {"metadata": metadata, "status": status}


def listed(*items: dict[str, Any]) -> Answer:
    return said({"metadata": {"resourceVersion": "10"}, "items": list(items)})


class World:
    """A management cluster that serves KubeadmControlPlanes in some version."""

    def __init__(self, server: ApiServer, transport: Transport) -> None:
        self._server = server
        self.context = ClusterContextWatch(
            ClusterConnection.over(transport),
            "leases",
            (CLUSTER_VERSION, *ROLLING_OUT),
            KINDS,
            lambda: None,
        )
        server.version(NODES.path(), FAR_AHEAD)
        server.answer("GET", OPENSHIFT, NOT_SERVED)
        clusters = resource_of(CLUSTERS)
        group, _, _ = clusters.path().rpartition("/")
        names = {"name": clusters.plural, "kind": clusters.kind, "namespaced": True}
        server.answer("GET", group, said({"resources": [names]}))
        for path in (clusters.path(), NAMESPACES.path()):
            self._answer(path, EMPTY)
        self._answer(MACHINE_HEALTH_CHECKS.path(), NOT_SERVED)

    def serve(self, group: str, answer: Answer) -> None:
        for version in (NEW, OLD):
            self._server.answer("GET", version, SERVED if version == group else NOT_SERVED)
        self._answer(f"{group}/kubeadmcontrolplanes", answer)

    def _answer(self, path: str, answer: Answer) -> None:
        self._server.answer("GET", path, answer)
        self._server.watch(path, lines(then="silent"))

    @asynccontextmanager
    async def settled(self) -> AsyncIterator[None]:
        running = [asyncio.create_task(source.run()) for source in self.context.sources.values()]
        async with asyncio.timeout(60):
            await self.context.wait_tried()
        try:
            yield
        finally:
            for task in running:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def phase(self, cluster: str) -> UpgradePhase:
        return self.upgrade_of(cluster).phase

    def upgrade_of(self, cluster: str) -> Upgrade:
        upgrade, cluster_upgrades = self.context.upgrades()
        return ClusterContext(upgrade=upgrade, cluster_upgrades=cluster_upgrades).upgrade_of(cluster)


@pytest.fixture
def world(server: ApiServer, transport: Transport) -> World:
    return World(server, transport)


ROLLS, ROLLED = ({"conditions": [condition("RollingOut", status)]} for status in ("True", "False"))


@pytest.mark.rule("rule 38/cluster", "rule 38/default")
@pytest.mark.parametrize(
    ("group", "rolls", "rolled"),
    [
        pytest.param(NEW, ROLLS, ROLLED, id="v1beta2"),
        pytest.param(OLD, {"v1beta2": ROLLS}, {"v1beta2": ROLLED}, id="v1beta1"),
    ],
)
async def test_of_two_clusters_the_one_whose_control_plane_is_rolling_out_is_being_upgraded(
    world: World, group: str, rolls: dict[str, Any], rolled: dict[str, Any]
) -> None:
    world.serve(group, listed(control_plane("edge", rolls), control_plane("core", rolled)))
    async with world.settled():
        assert world.phase("fleet/edge") is UpgradePhase.UNDER_WAY
        assert world.phase("fleet/core") is UpgradePhase.OVER
        assert world.context.upgrades()[0] == NEVER_UPGRADED
        assert [world.context.unread(kind, LIMIT) for kind in KINDS] == [None, None]


@pytest.mark.rule("rule 38/cluster", "rule 36")
async def test_control_planes_without_the_condition_and_kinds_that_are_not_served_signal_nothing(
    world: World,
) -> None:
    world.serve(OLD, listed(control_plane("edge", {"conditions": [condition("Ready", "False")]})))
    async with world.settled():
        assert world.phase("fleet/edge") is UpgradePhase.NEVER
        assert [world.context.unread(kind, LIMIT) for kind in KINDS] == [None, None]


@pytest.mark.rule("rule 38/unreadable", "rule 36", "rule 3")
async def test_control_planes_that_cannot_be_read_hold_checks_of_cluster_api_alone(world: World) -> None:
    world.serve(NEW, refused(403, "Forbidden"))
    async with world.settled():
        nodes, clusters = (world.context.unread(kind, LIMIT) for kind in KINDS)

        assert (nodes, world.context.unread_signals(LIMIT)) == (None, None)
        assert "KubeadmControlPlane (controlplane.cluster.x-k8s.io/v1beta2): " in str(clusters)
        assert world.context.upgrades()[0] == NEVER_UPGRADED
        assert "Forbidden" in world.upgrade_of("fleet/edge").why_unknown


@pytest.mark.rule("rule 38/cluster")
async def test_control_planes_are_no_reason_to_pause_checks_of_this_cluster(world: World) -> None:
    world.serve(NEW, listed(control_plane("edge", ROLLS)))
    async with world.settled():
        assert not world.context.serves_signals()
