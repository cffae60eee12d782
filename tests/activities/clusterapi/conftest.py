from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.transport import Transport
from tests.activities.clusterapi.world import ClusterApiWorld
from tests.activities.worker_activities import WorkerActivities
from tests.support.api.api_server import ApiServer
from tests.support.api.kubeconfigs import Pair
from tests.support.cluster.prepared import installed_control_plane


@pytest.fixture(scope="package")
async def management_cluster(
    prepared: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ControlPlane]:
    """A control plane with the kinds of Cluster API, which tests of other folders must not see."""
    async with installed_control_plane(prepared, tmp_path_factory.mktemp("management")) as running:
        yield running


@pytest.fixture(scope="package")
async def management(management_cluster: ControlPlane) -> AsyncIterator[Transport]:
    """A connection with the rights of an administrator; other tests cover the rights of the worker."""
    async with await Transport.connect(str(management_cluster.kubeconfig)) as transport:
        yield transport


@pytest.fixture
async def workload(tmp_path: Path) -> AsyncIterator[tuple[ApiServer, Pair]]:
    """The API server of a workload cluster, and the certificate that it presents."""
    pair = Pair.make(tmp_path / "pair", "workload")
    async with ApiServer(tmp_path, pair.serving()) as server:
        yield server, pair


@pytest.fixture
async def world(management: Transport, workload: tuple[ApiServer, Pair]) -> AsyncIterator[ClusterApiWorld]:
    made = ClusterApiWorld(Client(management), f"test-{uuid4().hex[:8]}", workload)
    await made.make()
    yield made
    await made.remove()


@pytest.fixture
async def worker(management: Transport) -> AsyncIterator[WorkerActivities]:
    made = WorkerActivities(management)
    async with made.workload_clusters:
        yield made
