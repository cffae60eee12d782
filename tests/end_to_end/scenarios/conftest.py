"""Detector and worker that run through all tests of a file, and a world for each test.

A test leaves nothing behind: its check is deleted, and its incidents end by themselves.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.temporal import TemporalServer
from kube.client import Client
from kube.transport import Transport
from tests.end_to_end.conftest import Paramedic, watched_world
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.processes import our_process
from tests.end_to_end.world import World

PATIENCE = timedelta(seconds=30)


@pytest.fixture(scope="module")
def cluster_name() -> str:
    """A configured name for the file."""
    return f"c{uuid.uuid4().hex[:6]}"


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """Settings of both processes that a file wants to be other than usual."""
    return {}


@pytest.fixture(scope="module")
async def paramedic(
    cluster_name: str,
    control_plane: ControlPlane,
    temporal_server: TemporalServer,
    settings: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Paramedic]:
    """Detector and worker, ready, for all tests of the file."""
    directory: Path = tmp_path_factory.mktemp("paramedic")
    detector, worker = (
        our_process(name, cluster_name, control_plane, temporal_server, directory)
        for name in ("detector", "worker")
    )
    for process in (detector, worker):
        process.environment.update(settings)
    processes = Paramedic(detector, worker)
    await processes.start()
    yield processes
    await asyncio.gather(detector.stop(), worker.stop())


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
    cluster_name: str,
    control_plane: ControlPlane,
    temporal_client: TemporalClient,
    paramedic: Paramedic,  # noqa: ARG001  it runs
) -> AsyncIterator[World]:
    """One test's part of the cluster."""
    async with watched_world(cluster_name, control_plane, temporal_client) as world:
        yield world
        await world.remove()
        await _until_nothing_runs(temporal_client, world.cluster)


async def _until_nothing_runs(client: TemporalClient, cluster: str) -> None:
    """Return when every incident has ended."""
    query = f"ParamedicCluster = '{cluster}' AND ExecutionStatus = 'Running'"

    async def has_ended() -> bool:
        return (await client.count_workflows(query)).count == 0

    await until(has_ended, within=PATIENCE, otherwise="incidents still run after the check is gone")
