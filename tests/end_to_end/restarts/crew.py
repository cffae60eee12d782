"""Our processes and the servers that they need."""

import asyncio
from dataclasses import dataclass

from kube.client import Client
from kube.errors import NotFound
from kube.resource import LEASES
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, ParamedicStatusDocument
from tests.support.cluster.own_servers import OwnServers
from tests.support.cluster.processes import OurProcess


@dataclass(frozen=True)
class Crew:
    client: Client
    servers: OwnServers
    detector: OurProcess
    worker: OurProcess
    standby: OurProcess

    async def start(self) -> None:
        """Start detector and worker; the detector leads."""
        await asyncio.gather(self.detector.start_ready(), self.worker.start_ready())

    async def leader(self) -> str:
        lease = await self.client.get(LEASES, "paramedic-detector", "paramedic-system")
        holder: str = lease["spec"]["holderIdentity"]
        return holder

    async def says(self, **conditions: str) -> bool:
        """True if the ParamedicStatus has these conditions."""
        try:
            stored = await self.client.get(PARAMEDIC_STATUSES, NAME, "paramedic-system")
        except NotFound:
            return False
        found = {
            condition.type: condition.status for condition in ParamedicStatusDocument.read(stored).conditions
        }
        return conditions.items() <= found.items()

    def nobody_must_have_died(self) -> None:
        """No process of ours may have exited, except where the test killed it."""
        dead = [process.log for process in (self.detector, self.worker, self.standby) if process.has_died]
        assert not dead
