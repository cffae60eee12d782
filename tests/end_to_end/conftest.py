"""A world and our processes for one test, on the servers that all tests share."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from tests.support.cluster.installations import forget_installations
from tests.support.cluster.processes import our_process
from tests.support.cluster.temporal_servers import client_of, end_workflows
from tests.support.story.paramedic import Paramedic, watched_world
from tests.support.story.policies import NO_BACK_OFF, put_policy
from tests.support.story.world import World


@pytest.fixture(scope="session")
async def temporal_client(temporal_server: TemporalServer) -> TemporalClient:
    return await client_of(temporal_server)


@pytest.fixture
def cluster_name() -> str:
    """A unique cluster name, so that the processes of a test see no other test's incidents."""
    return f"c{uuid.uuid4().hex[:6]}"


@pytest.fixture
async def paramedic(
    cluster_name: str, control_plane: ControlPlane, temporal_server: TemporalServer, tmp_path: Path
) -> AsyncIterator[Paramedic]:
    detector, worker = (
        our_process(name, cluster_name, control_plane, temporal_server, tmp_path)
        for name in ("detector", "worker")
    )
    await put_policy(control_plane, NO_BACK_OFF)
    yield Paramedic(detector, worker)
    await asyncio.gather(detector.stop(), worker.stop())
    await put_policy(control_plane, "")
    await forget_installations(control_plane)


@pytest.fixture
async def world(
    cluster_name: str, control_plane: ControlPlane, temporal_client: TemporalClient, paramedic: Paramedic
) -> AsyncIterator[World]:
    """The world of one test; our processes stop before it is removed."""
    async with watched_world(cluster_name, control_plane, temporal_client) as world:
        yield world
        await asyncio.gather(paramedic.detector.stop(), paramedic.worker.stop())
        await end_workflows(temporal_client, world.cluster)
        await world.remove()
