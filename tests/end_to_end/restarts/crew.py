"""Crew: our processes and the servers that they need."""

import asyncio
from dataclasses import dataclass

from kube.client import Client
from kube.errors import NotFound
from kube.resource import LEASES
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, Status
from tests.end_to_end.processes import OurProcess
from tests.end_to_end.restarts.servers import OwnServers


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

    async def says(self, **conditions: str) -> bool:
        """Whether the ParamedicStatus has these conditions."""
        try:
            stored = await self.client.get(PARAMEDIC_STATUSES, NAME, "paramedic-system")
        except NotFound:
            return False
        found = {one.type: one.status for one in Status.read(stored).conditions}
        return conditions.items() <= found.items()

    def nobody_must_have_died(self) -> None:
        """Each process of ours that the test did not kill is the one that it started."""
        dead = [process.log for process in (self.detector, self.worker, self.standby) if process.has_died]
        assert not dead
