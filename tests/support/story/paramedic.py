"""Our two processes, and the world of a test that records its requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from health.model.remediation_request import RemediationRequest
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.reflector import Reflector
from kube.reflector_settings import ReflectorSettings, Waits
from kube.transport import Transport
from tests.support.cluster.processes import OurProcess
from tests.support.story.request_log import RequestLog
from tests.support.story.world import REQUESTS, World

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
