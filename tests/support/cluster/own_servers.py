"""A control plane and a Temporal server that a test may kill, restart, freeze and thaw."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from devcluster import assets, control_plane, temporal
from devcluster.assets import Servers
from devcluster.control_plane import API_SERVER, ControlPlane
from devcluster.layout import Layout
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer
from runtime import search_attributes
from runtime.temporal import connect
from tests.support.api.ports import own_layout
from tests.support.cluster.prepared import put, until_served

TEMPORAL, ETCD = "temporal", "etcd"


class OwnServers:
    """The servers of one test file. A restarted server has the same address and data."""

    def __init__(self, supervisor: Supervisor, layout: Layout, servers: Servers) -> None:
        self._supervisor = supervisor
        self._layout = layout
        self._servers = servers

    async def start(self, prepared: Path) -> tuple[ControlPlane, TemporalServer]:
        put(prepared, self._layout)
        cluster = await self.start_control_plane()
        await until_served(cluster)
        server = await self.start_temporal()
        client = await connect(environment=server.environment)
        await search_attributes.register(client, client.namespace)
        return cluster, server

    async def start_control_plane(self) -> ControlPlane:
        """Start only the control plane, with nothing of ours installed."""
        return await control_plane.start(self._supervisor, self._layout, self._servers)

    async def start_api_server(self) -> None:
        """Start kube-apiserver again, and wait until it is ready."""
        await control_plane.start_api_server(self._supervisor, self._layout, self._servers)

    async def start_temporal(self) -> TemporalServer:
        """Start or restart Temporal, and wait until it is ready."""
        return await temporal.start(self._supervisor, self._layout)

    async def kill(self, name: str) -> None:
        self._send(name, signal.SIGKILL)
        await self._supervisor.stop(name)

    def freeze(self, name: str) -> None:
        """Stop the threads of a server; its sockets stay open."""
        self._send(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._send(name, signal.SIGCONT)

    def _send(self, name: str, number: signal.Signals) -> None:
        os.kill(self._supervisor.pids[name], number)


@asynccontextmanager
async def own_servers(directory: Path) -> AsyncIterator[OwnServers]:
    """Servers on `directory`, not started yet; they stop after the block."""
    async with Supervisor() as supervisor:
        yield OwnServers(supervisor, own_layout(directory), assets.find())


__all__ = ["API_SERVER", "ETCD", "TEMPORAL", "OwnServers", "own_servers"]
