"""A control plane of this folder's own: what is around all checks disturbs every other test of a cluster."""

from collections.abc import AsyncIterator

import pytest

from devcluster import assets, manifests
from devcluster import control_plane as control_planes
from devcluster.control_plane import ControlPlane
from tests.end_to_end.surroundings.openshift import OpenShift
from tests.end_to_end.world import World


@pytest.fixture(scope="session")
async def control_plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    """The control plane of this folder."""
    directory = tmp_path_factory.mktemp("around")
    async with control_planes.control_plane(directory / "kubernetes", assets.find()) as running:
        await manifests.install(running.kubeconfig)
        yield running


@pytest.fixture
async def openshift(world: World) -> AsyncIterator[OpenShift]:
    """What OpenShift has beside; nothing of it is there yet."""
    made = OpenShift(world.client)
    yield made
    await made.remove()
