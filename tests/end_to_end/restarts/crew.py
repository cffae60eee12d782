"""Crew: our processes and the servers that they need, each of which may be away for a while."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from kube.client import Client
from kube.resource import LEASES
from tests.end_to_end.processes import OurProcess
from tests.end_to_end.restarts.servers import API_SERVER, TEMPORAL, OwnServers


@dataclass(frozen=True)
class Crew:
    """All that runs."""

    client: Client
    servers: OwnServers
    detector: OurProcess
    worker: OurProcess
    standby: OurProcess

    async def start(self) -> None:
        """Start detector and worker; the detector leads."""
        await asyncio.gather(self.detector.start_ready(), self.worker.start_ready())

    async def leader(self) -> str:
        """Who holds the Lease of the detectors."""
        lease = await self.client.get(LEASES, "paramedic-detector", "paramedic-system")
        holder: str = lease["spec"]["holderIdentity"]
        return holder

    def nobody_must_have_died(self) -> None:
        """Each process of ours that the test did not kill is the one that it started."""
        dead = [process.log for process in (self.detector, self.worker, self.standby) if process.has_died]
        assert not dead


Outage = Callable[[Crew], AbstractAsyncContextManager[None]]
"""Something is away for the time of the block, and back when it is left."""


@asynccontextmanager
async def worker_killed(crew: Crew) -> AsyncIterator[None]:
    """The worker dies, and is started again."""
    await crew.worker.kill()
    yield
    await crew.worker.start_ready()


@asynccontextmanager
async def detector_killed(crew: Crew) -> AsyncIterator[None]:
    """The detector dies, and is started again."""
    await crew.detector.kill()
    yield
    await crew.detector.start_ready()


@asynccontextmanager
async def temporal_killed(crew: Crew) -> AsyncIterator[None]:
    """Temporal dies, and is started again on its file."""
    await crew.servers.kill(TEMPORAL)
    yield
    await crew.servers.start_temporal()


@asynccontextmanager
async def api_server_killed(crew: Crew) -> AsyncIterator[None]:
    """kube-apiserver dies, and is started again."""
    await crew.servers.kill(API_SERVER)
    yield
    await crew.servers.start_api_server()


@asynccontextmanager
async def processes_frozen(crew: Crew) -> AsyncIterator[None]:
    """Neither detector nor worker moves, as when their machine is suspended."""
    crew.detector.freeze()
    crew.worker.freeze()
    yield
    crew.worker.thaw()
    crew.detector.thaw()


@asynccontextmanager
async def leader_frozen(crew: Crew) -> AsyncIterator[None]:
    """The detector that leads does not move; a standby, if there is one, takes over."""
    crew.detector.freeze()
    yield
    crew.detector.thaw()


@asynccontextmanager
async def temporal_frozen(crew: Crew) -> AsyncIterator[None]:
    """Temporal does not move."""
    crew.servers.freeze(TEMPORAL)
    yield
    crew.servers.thaw(TEMPORAL)


@asynccontextmanager
async def api_server_frozen(crew: Crew) -> AsyncIterator[None]:
    """kube-apiserver does not move: connections are accepted, and nothing is answered."""
    crew.servers.freeze(API_SERVER)
    yield
    crew.servers.thaw(API_SERVER)
