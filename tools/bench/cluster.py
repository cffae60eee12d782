"""BenchCluster: a control plane and a Temporal server for one scenario, and the usage of our processes there.

CPU time and memory come from /proc, on Linux only; requests come from the audit log of the API server.
"""

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from temporalio.client import Client as TemporalClient
from temporalio.contrib.pydantic import pydantic_data_converter

from bench.watched_detector import STOPS_FILE
from devcluster import assets, control_plane, manifests, processes, temporal
from devcluster.layout import Layout, lay_out
from devcluster.polling import until
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.transport import Transport
from runtime import search_attributes
from runtime.process_names import NAMESPACE

PROCESSES = ("detector", "worker")
OURS = "system:serviceaccount:paramedic-system:"
WRITES = frozenset({"create", "update", "patch", "delete"})
WATCHED_DETECTOR = (sys.executable, "-m", "bench.watched_detector")
QUIET_WITHIN = timedelta(minutes=3)
_TICKS = os.sysconf("SC_CLK_TCK")


class ObjectRequest(NamedTuple):
    """A request of ours for an object, or for its subresource, with any answer."""

    verb: str
    plural: str
    name: str
    subresource: str


@dataclass(frozen=True, kw_only=True)
class BenchCluster:
    """The servers of one scenario, with clients and pids."""

    layout: Layout
    transport: Transport
    client: Client
    temporal: TemporalClient
    server: TemporalServer
    control_plane: control_plane.ControlPlane
    supervisor: Supervisor
    identity: str

    async def start(
        self, *names: str, stops: Path | None = None, within: timedelta = processes.PATIENCE
    ) -> None:
        """Start our processes and wait until they are ready, each for at most `within`.

        The detector writes the stops of its event loop to the file `stops`.
        """
        for name in names:
            program = processes.ours(name, self.layout, self.control_plane.kubeconfig_of(name), self.server)
            if name == "detector" and stops is not None:
                environment = {**program.environment, STOPS_FILE: str(stops)}
                program = replace(program, command=WATCHED_DETECTOR, environment=environment)
            await self.supervisor.start(program)
        for name in names:
            await processes.until_ready(self.supervisor, self.layout, name, within)

    def cpu_seconds(self, process: str) -> float:
        """The user and system time of a process."""
        stat = Path(f"/proc/{self.supervisor.pids[process]}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def resident_megabytes(self, process: str) -> float:
        status = Path(f"/proc/{self.supervisor.pids[process]}/status").read_text().splitlines()
        (resident,) = (line for line in status if line.startswith("VmRSS:"))
        return int(resident.split()[1]) / 1024

    def requests(self, since: datetime) -> Iterator[ObjectRequest]:
        """Our requests that remediations cause: no lists, no watches, nothing in our own namespace.

        Discovery names no object and does not count.
        """
        for line in self.control_plane.audit_log.read_text().splitlines():
            event = json.loads(line)
            target, verb = event.get("objectRef"), event["verb"]
            is_ours = event["user"]["username"].startswith(OURS)
            is_late = datetime.fromisoformat(event["requestReceivedTimestamp"]) > since
            if not (is_ours and is_late) or target is None or verb in ("list", "watch"):
                continue
            if target.get("namespace") != NAMESPACE:
                name, subresource = target.get("name", ""), target.get("subresource", "")
                yield ObjectRequest(verb, target["resource"], name, subresource)

    def writes(self, since: datetime) -> int:
        """Our writes, without those of leader Leases and of our own status."""
        return sum(request.verb in WRITES for request in self.requests(since))

    async def until_quiet(self, period: timedelta) -> None:
        """Return when we have sent no such request for this period."""

        async def is_quiet() -> bool:
            return not any(self.requests(datetime.now(UTC) - period))

        await until(is_quiet, within=QUIET_WITHIN, otherwise="there always were requests", every=period / 3)


@asynccontextmanager
async def bench_cluster(directory: Path) -> AsyncIterator[BenchCluster]:
    """Run the servers on `directory`, without our processes."""
    layout = lay_out(directory)
    async with Supervisor() as supervisor:
        server = await temporal.start(supervisor, layout)
        servers = await control_plane.start(supervisor, layout, assets.find(), node_grace=None)
        await manifests.install(servers.kubeconfig)
        client = await TemporalClient.connect(
            server.address, namespace=server.namespace, data_converter=pydantic_data_converter
        )
        await search_attributes.register(client, server.namespace)
        async with await Transport.connect(str(servers.kubeconfig)) as transport:
            kubernetes = Client(transport, "bench")
            identity = await read_cluster_identity(kubernetes, processes.CLUSTER)
            yield BenchCluster(
                layout=layout,
                transport=transport,
                client=kubernetes,
                temporal=client,
                server=server,
                control_plane=servers,
                supervisor=supervisor,
                identity=identity,
            )
