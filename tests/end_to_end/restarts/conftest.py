"""Each file here has its own servers instead of the shared ones, and a standby of the detector.

Payloads in Temporal are encrypted here, which proves that incidents in each phase survive restarts with keys,
too.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from runtime.payload_codec import ENCRYPTED, with_keys
from runtime.settings import PAYLOAD_KEYS_VARIABLE
from tests.end_to_end.restarts.crew import Crew
from tests.support.cluster.own_servers import OwnServers, own_servers
from tests.support.cluster.processes import our_process
from tests.support.story.other_kind import OtherKind, installed_kind
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World
from tests.support.values.payload_keys import LAST_YEAR, THIS_YEAR, keys_file, read


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first, so that the other workers do not wait for them at the end."""
    longest: dict[Path, float] = {}
    for item in items:
        timeout = item.get_closest_marker("timeout")
        seconds = timeout.args[0] if timeout else 0
        longest[item.path] = max(seconds, longest.get(item.path, 0))
    items.sort(key=lambda item: -longest[item.path])


Started = tuple[OwnServers, ControlPlane, TemporalServer]


@pytest.fixture(scope="module")
async def started(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Started]:
    async with own_servers(tmp_path_factory.mktemp("own-servers")) as servers:
        yield servers, *await servers.start(prepared)


@pytest.fixture(scope="module")
def control_plane(started: Started) -> ControlPlane:
    return started[1]


@pytest.fixture(scope="module")
def temporal_server(started: Started) -> TemporalServer:
    return started[2]


@pytest.fixture(scope="module")
def payload_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the payload keys of this file's processes."""
    return keys_file(tmp_path_factory.mktemp("keys") / "keys", THIS_YEAR, LAST_YEAR)


@pytest.fixture(scope="module")
async def temporal_client(temporal_server: TemporalServer, payload_keys: Path) -> TemporalClient:
    return await TemporalClient.connect(
        temporal_server.address,
        namespace=temporal_server.namespace,
        data_converter=with_keys(read(payload_keys)),
    )


@pytest.fixture
def paramedic(paramedic: Paramedic, payload_keys: Path) -> Paramedic:
    for process in (paramedic.detector, paramedic.worker):
        process.environment[PAYLOAD_KEYS_VARIABLE] = str(payload_keys)
    return paramedic


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
    standby.environment[PAYLOAD_KEYS_VARIABLE] = paramedic.detector.environment[PAYLOAD_KEYS_VARIABLE]
    yield Crew(world.client, servers, paramedic.detector, paramedic.worker, standby)
    await standby.stop()
    await _must_be_encrypted(world)


async def _must_be_encrypted(world: World) -> None:
    """The payloads of the detector and of the worker in Temporal must be encrypted."""
    async for execution in world.temporal.list_workflows(f"ParamedicCluster = '{world.cluster}'"):
        handle = world.temporal.get_workflow_handle(execution.id, run_id=execution.run_id)
        async for event in handle.fetch_history_events():
            started = event.workflow_execution_started_event_attributes.input.payloads
            scheduled = event.activity_task_scheduled_event_attributes.input.payloads
            assert {one.metadata["encoding"] for one in [*started, *scheduled]} <= {ENCRYPTED}
