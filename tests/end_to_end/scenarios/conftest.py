"""Detector and worker that run through all tests of the folder, and a world for each test.

A test leaves nothing behind: its check is deleted, and its incidents end by themselves.
"""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.transport import Transport
from tests.end_to_end import shared_processes
from tests.end_to_end.conftest import Paramedic, watched_world
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.pairs import Pairs
from tests.end_to_end.world import World

settings, pairs = shared_processes.settings, shared_processes.pairs


@pytest.fixture(scope="module")
async def paramedic(pairs: Pairs, settings: dict[str, str]) -> Paramedic:
    """Detector and worker, ready, for all tests of the folder that want these settings."""
    return await pairs.get(settings)


@pytest.fixture(scope="module")
async def other_kind(control_plane: ControlPlane) -> AsyncIterator[OtherKind]:
    """A second kind of request, with a template and our rights, for all tests of a file that ask for it."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        kind = OtherKind(Client(transport, "end-to-end-test"))
        await kind.install()
        await kind.grant()
        yield kind
        await kind.uninstall()


@pytest.fixture
async def world(
    control_plane: ControlPlane, temporal_client: TemporalClient, paramedic: Paramedic
) -> AsyncIterator[World]:
    """One test's part of the cluster."""
    async with watched_world(paramedic.cluster_name, control_plane, temporal_client) as world:
        yield world
        await world.remove()
        await world.until_nothing_runs()
