"""A control plane of this folder's own with the kinds of Cluster API: versions are switched under it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from kube.transport import Transport
from tests.devcluster.simulation import conftest as simulation
from tests.support.cluster.prepared import installed_control_plane

transport = simulation.transport


@pytest.fixture(scope="package")
async def management_cluster(
    prepared: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ControlPlane]:
    async with installed_control_plane(prepared, tmp_path_factory.mktemp("management")) as running:
        yield running


@pytest.fixture(scope="package")
async def management(management_cluster: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(management_cluster.kubeconfig)) as connected:
        yield connected
