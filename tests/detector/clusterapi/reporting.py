"""A TargetReporter over SmallClusterApi, which writes to a scripted API server."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from detector.reporting.target_reporter import TargetReporter
from health.model.references import CheckReference
from kube.connection import ClusterConnection
from kube.resource import Object
from kube.transport import Transport
from tests.detector.clusterapi.machines_api import RESOURCE, MachinesApi
from tests.support.api.api_server import ApiServer, Asked
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster_api import OF_WEST, WEST, SmallClusterApi, machine_object
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import NAMESPACE

SUCCEEDED, OWNER, EXTERNAL = "HealthCheckSucceeded", "OwnerRemediated", "ExternallyRemediated"


class Reporting:
    """The state of the cluster follows its API server at once; the clock is the real one."""

    def __init__(self, server: ApiServer, transport: Transport) -> None:
        self.small = SmallClusterApi()
        self.small.check("of-west", clusterName="west")
        self._server = server
        self.api = MachinesApi(server, self._watched)
        self.unseen: set[CheckReference] = set()
        self.is_watching = True
        self.offset = timedelta()
        self._began = time.monotonic()
        self.reporter = TargetReporter(
            ClusterConnection.over(transport), self.small.cluster_state, self._sees, self.now
        )
        self.small.cluster_state.event_handlers.add_change_handler(self.reporter.changed)

    def _watched(self, found: Object) -> None:
        if self.is_watching:
            self.small.machine(found)

    def _sees(self, check: CheckReference) -> bool:
        return check not in self.unseen

    def now(self) -> datetime:
        return NOW + self.offset + timedelta(seconds=time.monotonic() - self._began)

    def add(self, name: str, ready: str = "True") -> None:
        """Add a Machine with its Node, which became (un)ready long ago."""
        self.small.node(name, ready)
        self.api.put(name, machine_object(name))

    @asynccontextmanager
    async def leading(self) -> AsyncIterator[None]:
        """Run the reporter as on the leading detector."""
        task = asyncio.create_task(self.reporter.lead())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def says(self, name: str, status: str | None, type_: str = SUCCEEDED) -> None:
        """Wait until that condition of a Machine has that status; None waits until it is missing."""
        await eventually(lambda: self.said(name, type_) == status)

    def said(self, name: str, type_: str = SUCCEEDED) -> str | None:
        found = self.api.condition(name, type_)
        return None if found is None else found["status"]

    def written(self) -> list[str]:
        """The names of the written Machines of `edge`, in order."""
        return [name for name in self.api.written() if not name.startswith("west-")]

    def reason(self, name: str, type_: str) -> str | None:
        found = self.api.condition(name, type_)
        return None if found is None else found["reason"]

    def attempts(self, name: str) -> list[float]:
        """The times of all tries to write the status of a Machine."""
        return self.api.tried[name]

    def reads(self, name: str) -> list[Asked]:
        path = RESOURCE.path(NAMESPACE, name)
        return [call for call in self._server.asked if (call.method, call.path) == ("GET", path)]

    async def all_written(self) -> None:
        """Wait until the queue is empty: a Machine of `west` is queued last, and its write is awaited."""
        name = f"west-{len(self.api.objects)}"
        self.small.node(name, "False", in_cluster=WEST)
        self.api.put(name, machine_object(name, labels=OF_WEST))
        await self.says(name, "False")
        self.small.node(name, in_cluster=WEST)
        await self.says(name, "True")


@asynccontextmanager
async def reporting(server: ApiServer) -> AsyncIterator[Reporting]:
    async with await Transport.connect(str(server.kubeconfig)) as transport:
        yield Reporting(server, transport)
