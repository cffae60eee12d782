"""A cluster of OpenShift that is being upgraded, and our processes, which handle its MachineHealthChecks.

ClusterVersions are served from before our processes start until they have ended.
"""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from tests.end_to_end import shared_processes
from tests.end_to_end.cluster_context.openshift import OpenShift, openshift_of
from tests.end_to_end.conftest import Paramedic, watched_world
from tests.end_to_end.machines.machines import Machines
from tests.end_to_end.pairs import Pairs

pairs, paramedic = shared_processes.pairs, shared_processes.paramedic


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """Machines alone."""
    return {"PARAMEDIC_CHECK_KINDS": MACHINE_HEALTH_CHECK.resource_name}


@pytest.fixture(scope="module")
async def openshift(control_plane: ControlPlane, pairs: Pairs) -> AsyncIterator[OpenShift]:
    """A ClusterVersion that does not progress."""
    await pairs.stop()
    async with openshift_of(control_plane) as made:
        await made.serve_cluster_versions()
        await made.set_progressing("False")
        yield made
        await pairs.stop()


@pytest.fixture
async def machines(
    openshift: OpenShift,  # noqa: ARG001  before our processes start
    control_plane: ControlPlane,
    temporal_client: TemporalClient,
    paramedic: Paramedic,
) -> AsyncIterator[Machines]:
    """One test's part of the cluster."""
    async with watched_world(paramedic.cluster_name, control_plane, temporal_client) as world:
        made = Machines(world)
        await made.make()
        yield made
        await made.remove()
        await world.remove()
        await world.until_nothing_runs()
