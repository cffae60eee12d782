"""A control plane for this folder: a MachineHealthCheck disables every NodeHealthCheck of its cluster.

Detector and worker handle both kinds, and run through all tests of the folder. Each test has its own
namespace.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from tests.support.cluster.prepared import installed_control_plane
from tests.support.story import shared_processes
from tests.support.story.machines import Machines
from tests.support.story.pairs import Pairs
from tests.support.story.paramedic import Paramedic, watched_world

settings, policy, pairs = shared_processes.settings, shared_processes.policy, shared_processes.pairs
other_kind = shared_processes.other_kind


@pytest.fixture(scope="package")
async def control_plane(
    prepared: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ControlPlane]:
    async with installed_control_plane(prepared, tmp_path_factory.mktemp("machines")) as running:
        yield running


@pytest.fixture(scope="module")
async def paramedic(pairs: Pairs, settings: dict[str, str], policy: str) -> Paramedic:
    """One running detector and worker for all tests of the folder with the same settings."""
    kinds = ",".join(kind.resource_name for kind in (NODE_HEALTH_CHECK, MACHINE_HEALTH_CHECK))
    return await pairs.get({"PARAMEDIC_CHECK_KINDS": kinds} | settings, policy)


@pytest.fixture
async def machines(
    control_plane: ControlPlane, temporal_client: TemporalClient, paramedic: Paramedic
) -> AsyncIterator[Machines]:
    async with watched_world(paramedic.cluster_name, control_plane, temporal_client) as world:
        made = Machines(world)
        await made.make()
        yield made
        await made.remove()
        await world.remove()
        await world.until_nothing_runs()
