"""A control plane of this folder's own with the kinds of Cluster API: versions are switched under it."""

from collections.abc import AsyncIterator

import pytest

from devcluster import assets, cluster_api_crds
from devcluster.control_plane import ControlPlane, control_plane
from kube.transport import Transport
from tests.devcluster.simulation import conftest as simulation

control, transport = simulation.control, simulation.transport


@pytest.fixture(scope="package")
async def management_cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    """The control plane of this folder."""
    async with control_plane(tmp_path_factory.mktemp("management"), assets.find()) as running:
        await cluster_api_crds.apply(running.kubeconfig)
        yield running


@pytest.fixture
async def management(management_cluster: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(management_cluster.kubeconfig)) as connected:
        yield connected
