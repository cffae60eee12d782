"""A control plane of this folder's own: a MachineHealthCheck disables every NodeHealthCheck of a cluster.

Detector and worker handle both kinds, and run through all tests of the folder; each test has a namespace.
"""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import Client as TemporalClient

from devcluster import assets, manifests
from devcluster import control_plane as control_planes
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.simulation.resources import MACHINES
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.client import Client
from kube.errors import TooManyRequests
from kube.transport import Transport
from tests.end_to_end import shared_processes
from tests.end_to_end.conftest import Paramedic, watched_world
from tests.end_to_end.machines.machines import Machines
from tests.end_to_end.pairs import Pairs

settings, pairs = shared_processes.settings, shared_processes.pairs
other_kind = shared_processes.other_kind
PATIENCE = timedelta(seconds=60)


@pytest.fixture(scope="package")
async def control_plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    """The control plane of this folder."""
    directory = tmp_path_factory.mktemp("machines")
    async with control_planes.control_plane(directory / "kubernetes", assets.find()) as running:
        await manifests.install(running.kubeconfig)
        async with await Transport.connect(str(running.kubeconfig)) as transport:
            await _until_served(Client(transport))
        yield running


@pytest.fixture(scope="module")
async def paramedic(pairs: Pairs, settings: dict[str, str]) -> Paramedic:
    """Detector and worker, ready, for all tests of the folder that want these settings."""
    kinds = ",".join(kind.resource_name for kind in (NODE_HEALTH_CHECK, MACHINE_HEALTH_CHECK))
    return await pairs.get({"PARAMEDIC_CHECK_KINDS": kinds} | settings)


@pytest.fixture
async def machines(
    control_plane: ControlPlane, temporal_client: TemporalClient, paramedic: Paramedic
) -> AsyncIterator[Machines]:
    """One test's part of the cluster."""
    async with watched_world(paramedic.cluster_name, control_plane, temporal_client) as world:
        made = Machines(world)
        await made.make()
        yield made
        await made.remove()
        await world.remove()
        await world.until_nothing_runs()


async def _until_served(client: Client) -> None:
    """Return when Machines can be listed: an API server that has just got their CRD asks to wait."""

    async def is_served() -> bool:
        try:
            await client.list(MACHINES)
        except TooManyRequests:
            return False
        return True

    await until(is_served, within=PATIENCE, otherwise="Machines are not served")
