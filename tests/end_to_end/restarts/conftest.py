"""Servers of a file's own in the place of those that all tests share, and a standby of the detector."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient
from temporalio.contrib.pydantic import pydantic_data_converter

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.other_kind import OtherKind, installed_kind
from tests.end_to_end.processes import our_process
from tests.end_to_end.restarts.crew import Crew
from tests.end_to_end.restarts.servers import OwnServers, own_servers
from tests.end_to_end.world import World


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files whose tests may take longest, or all the others would wait for them in the end."""
    longest: dict[Path, float] = {}
    for item in items:
        timeout = item.get_closest_marker("timeout")
        seconds = timeout.args[0] if timeout else 0
        longest[item.path] = max(seconds, longest.get(item.path, 0))
    items.sort(key=lambda item: -longest[item.path])


Started = tuple[OwnServers, ControlPlane, TemporalServer]


@pytest.fixture(scope="module")
async def started(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Started]:
    """The servers of this file, running."""
    async with own_servers(tmp_path_factory.mktemp("own-servers")) as servers:
        yield servers, *await servers.start()


@pytest.fixture(scope="module")
def control_plane(started: Started) -> ControlPlane:
    """The control plane of this file."""
    return started[1]


@pytest.fixture(scope="module")
def temporal_server(started: Started) -> TemporalServer:
    """The Temporal server of this file."""
    return started[2]


@pytest.fixture(scope="module")
async def temporal_client(temporal_server: TemporalServer) -> TemporalClient:
    """A client of the Temporal server of this file."""
    return await TemporalClient.connect(
        temporal_server.address,
        namespace=temporal_server.namespace,
        data_converter=pydantic_data_converter,
    )


@pytest.fixture(scope="module")
async def second_kind(control_plane: ControlPlane) -> AsyncIterator[OtherKind]:
    """A kind of requests for second steps, with our rights on it."""
    async with installed_kind(control_plane) as kind:
        await kind.grant()
        yield kind


@pytest.fixture
async def crew(
    cluster_name: str, world: World, paramedic: Paramedic, started: Started, tmp_path: Path
) -> AsyncIterator[Crew]:
    """Our processes and the servers that they need."""
    servers, cluster, temporal = started
    standby = our_process("detector", cluster_name, cluster, temporal, tmp_path, alias="standby")
    yield Crew(world.client, servers, paramedic.detector, paramedic.worker, standby)
    await standby.stop()
