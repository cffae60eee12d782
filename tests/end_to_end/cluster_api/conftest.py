"""Two control planes for this folder: one with Clusters, Machines and checks, one with their Nodes.

Detector and worker handle only this kind, and run through all tests of the folder. Each test has a namespace
with its own Cluster; all these Clusters are the same workload cluster.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from kube.client import Client
from kube.transport import Transport
from tests.end_to_end.cluster_api import calm_detector
from tests.end_to_end.cluster_api.fleet import Fleet
from tests.support.cluster.own_servers import OwnServers, own_servers
from tests.support.cluster.prepared import installed_control_plane
from tests.support.story import shared_processes
from tests.support.story.nodes import Nodes
from tests.support.story.pairs import Pairs
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

CONTROLLER_MANAGER = "manager"
settings, policy, world = shared_processes.settings, shared_processes.policy, shared_processes.world


@dataclass(frozen=True)
class Workload:
    """The workload cluster, whose API server may be stopped and started again."""

    servers: OwnServers
    control_plane: ControlPlane


Planes = tuple[ControlPlane, Workload]


@pytest.fixture(scope="package")
async def planes(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Planes]:
    directory = tmp_path_factory.mktemp("cluster-api")
    async with (
        installed_control_plane(prepared, directory / "management") as management,
        own_servers(directory / "workload") as servers,
    ):
        workload = Workload(servers, await servers.start_control_plane())
        # Nothing in the workload cluster needs controllers, and they end slowly after an outage of their
        # API server.
        await servers.kill(CONTROLLER_MANAGER)
        yield management, workload


@pytest.fixture(scope="package")
def control_plane(planes: Planes) -> ControlPlane:
    return planes[0]


@pytest.fixture(scope="package")
def workload(planes: Planes) -> Workload:
    return planes[1]


@pytest.fixture(scope="package")
async def pairs(
    control_plane: ControlPlane, temporal_server: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Pairs]:
    directory = tmp_path_factory.mktemp("paramedic")
    made = Pairs(control_plane, temporal_server, directory, calm_detector.run)
    yield made
    await made.stop()


@pytest.fixture(scope="module")
async def paramedic(pairs: Pairs, settings: dict[str, str], policy: str) -> Paramedic:
    """One running detector and worker for all tests of the folder with the same settings."""
    return await pairs.get(
        {"PARAMEDIC_CHECK_KINDS": CLUSTER_API_MACHINE_HEALTH_CHECK.resource_name} | settings, policy
    )


@pytest.fixture
async def fleet(world: World, workload: Workload) -> AsyncIterator[Fleet]:
    """Machines of a Cluster; their Nodes are in the workload cluster."""
    async with await Transport.connect(str(workload.control_plane.kubeconfig)) as transport:
        made = Fleet(world, Nodes(Client(transport, "end-to-end-test"), world.name))
        await made.make()
        await made.publish(workload.control_plane)
        yield made
        await made.remove()
