"""A world and our processes for one test, on the servers that all tests share."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from health.model.remediation_request import RemediationRequest
from kube.client import Client
from kube.reflector import Reflector
from kube.reflector_backoff import Waits
from kube.reflector_settings import ReflectorSettings
from kube.transport import Transport
from runtime.cluster import read_cluster_identity
from tests.end_to_end.policies import NO_BACK_OFF, put_policy
from tests.end_to_end.processes import OurProcess, our_process
from tests.end_to_end.request_log import RequestLog
from tests.end_to_end.world import REQUESTS, World
from tests.support.cluster.installations import forget_installations
from tests.temporal_servers import client_of

IMPATIENT = ReflectorSettings(waits=Waits(longest=timedelta(seconds=1)))
"""Shorter than the detector's, so that after an outage the log is never behind it."""


@dataclass(frozen=True)
class Paramedic:
    detector: OurProcess
    worker: OurProcess

    @property
    def cluster_name(self) -> str:
        return self.detector.environment["PARAMEDIC_CLUSTER"]

    async def start(self) -> None:
        """Start the processes that are not running, and wait until they are ready."""
        down = [process for process in (self.detector, self.worker) if process.is_down]
        await asyncio.gather(*(process.start_ready() for process in down))


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
        await _end_workflows(temporal_client, world.cluster)
        await world.remove()


@asynccontextmanager
async def watched_world(
    cluster_name: str, control_plane: ControlPlane, temporal_client: TemporalClient
) -> AsyncIterator[World]:
    """A world that records its requests in the block and checks the record afterwards."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport, "end-to-end-test")
        log = RequestLog()
        cluster = await read_cluster_identity(client, cluster_name)
        requests = Reflector(
            transport, REQUESTS, RemediationRequest, notify=log.note, settings=lambda: IMPATIENT
        )
        watch = asyncio.create_task(requests.run())
        yield World(client, temporal_client, cluster, log)
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
    log.assert_never_two_for_one_target()


async def _end_workflows(client: TemporalClient, cluster: str) -> None:
    """Later tests share the server, so no workflow of this test may stay open."""
    query = f"ParamedicCluster = '{cluster}' AND ExecutionStatus = 'Running'"
    async for execution in client.list_workflows(query):
        await client.get_workflow_handle(execution.id).terminate("the test is over")
