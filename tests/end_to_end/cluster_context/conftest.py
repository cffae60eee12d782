"""A detector and a worker of this folder's own: the cluster context disturbs whatever runs beside.

A test takes away what it put there. Our processes need a while to see that a kind is served no more: they end
before it goes.
"""

from collections.abc import AsyncIterator

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end import shared_processes
from tests.end_to_end.cluster_context.openshift import OpenShift, openshift_of
from tests.end_to_end.pairs import Pairs

settings, pairs, paramedic = shared_processes.settings, shared_processes.pairs, shared_processes.paramedic
other_kind, world = shared_processes.other_kind, shared_processes.world


@pytest.fixture
async def openshift(control_plane: ControlPlane, pairs: Pairs) -> AsyncIterator[OpenShift]:
    """What OpenShift has beside, nothing yet; a test asks for it before the world, which goes first."""
    async with openshift_of(control_plane) as made:
        yield made
        if made.serves_cluster_versions:
            await pairs.stop()
