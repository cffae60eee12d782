"""BenchCluster: a control plane, a Temporal server, a detector and a worker, for one measurement."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

from temporalio.client import Client as TemporalClient
from temporalio.contrib.pydantic import pydantic_data_converter

from devcluster import assets, control_plane, manifests, processes, temporal
from devcluster.layout import Layout, lay_out
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.transport import Transport
from runtime import search_attributes

NO_MORE: Mapping[str, Mapping[str, str]] = MappingProxyType({})
NO_OTHER: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class BenchCluster:
    """The servers of one measurement, with clients and pids."""

    layout: Layout
    transport: Transport
    client: Client
    temporal: TemporalClient
    server: TemporalServer
    control_plane: control_plane.ControlPlane
    supervisor: Supervisor
    identity: str

    @property
    def audit_log(self) -> Path:
        return self.control_plane.audit_log

    def pid(self, name: str) -> int:
        return self.supervisor.pids[name]

    async def start(
        self,
        *names: str,
        environments: Mapping[str, Mapping[str, str]] = NO_MORE,
        commands: Mapping[str, tuple[str, ...]] = NO_OTHER,
        within: timedelta = processes.PATIENCE,
    ) -> None:
        """Start our processes and wait until they are ready, each for at most `within`.

        `environments` has additions for each; `commands` has others than the usual ones.
        """
        for name in names:
            program = processes.ours(name, self.layout, self.control_plane, self.server)
            environment = {**program.environment, **environments.get(name, {})}
            command = commands.get(name, program.command)
            await self.supervisor.start(replace(program, command=command, environment=environment))
        for name in names:
            await processes.until_ready(self.supervisor, self.layout, name, within)

    async def stop(self, name: str) -> None:
        await self.supervisor.stop(name)


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
