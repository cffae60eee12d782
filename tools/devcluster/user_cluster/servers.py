"""`python -m devcluster.user_cluster.servers`: Temporal, our processes and the simulation of a demo.

Everything runs on this machine and reaches the cluster through the guarded kubeconfig. DIR/dev.json exists
while everything is ready. SIGTERM and SIGINT end it.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from temporalio.client import Client as TemporalClient

from devcluster import processes, temporal
from devcluster.errors import DevclusterError
from devcluster.files import write_json
from devcluster.layout import Layout, allocate, exclusive, prepare
from devcluster.processes import OURS
from devcluster.progress import print_progress
from devcluster.simulation.nodes import simulated_node
from devcluster.simulation.termination import run_until_terminated
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer
from devcluster.user_cluster.names import CHECK_KIND, CLUSTER, NAMESPACE
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.errors import KubernetesError
from kube.resource import NODES
from kube.transport import Transport
from runtime import search_attributes
from runtime.settings import CHECK_KINDS_VARIABLE, CLUSTER_VARIABLE, LEASE_NAMESPACE_VARIABLE

SETTINGS = MappingProxyType(
    {
        CLUSTER_VARIABLE: CLUSTER,
        CHECK_KINDS_VARIABLE: CHECK_KIND.resource_name,
        LEASE_NAMESPACE_VARIABLE: NAMESPACE,
        "PARAMEDIC_NAMESPACE": NAMESPACE,
        "PARAMEDIC_UPGRADE_PAUSE": "off",
    }
)
"""The detector and the worker keep all that they write in the namespace of the demo, and pause no checks."""
PORTS = ("temporal", "temporal-ui", *OURS)


class _Servers:
    def __init__(self, layout: Layout, kubeconfig: Path, nodes: Sequence[str]) -> None:
        self._layout = layout
        self._kubeconfig = kubeconfig
        self._nodes = nodes
        self._supervisor = Supervisor(changed=self._describe)
        self._description: Mapping[str, object] = {}

    async def run(self) -> None:
        async with self._supervisor:
            print_progress("starting Temporal, the detector and the worker on this machine")
            server = await temporal.start(self._supervisor, self._layout)
            client = await TemporalClient.connect(server.address, namespace=server.namespace)
            await search_attributes.register(client, server.namespace)
            await self._start_processes(server)
            self._description = await self._fixed_description(server)
            self._describe()
            await asyncio.Event().wait()

    async def _start_processes(self, server: TemporalServer) -> None:
        layout, kubeconfig = self._layout, self._kubeconfig
        for name in OURS:
            program = processes.of_user_cluster(name, layout, kubeconfig, server, SETTINGS)
            await self._supervisor.start(program)
        simulation = processes.simulation(layout, kubeconfig, renewal=processes.renewal(0))
        await self._supervisor.start(simulation)
        async with await Transport.connect(str(kubeconfig)) as transport:
            for node in self._nodes:
                await Client(transport).create(NODES, simulated_node(node, is_guest=True))
        for name in OURS:
            await processes.until_ready(self._supervisor, layout, name)
        self._supervisor.require_hope()

    async def _fixed_description(self, server: TemporalServer) -> Mapping[str, object]:
        async with await Transport.connect(str(self._kubeconfig)) as transport:
            cluster = await read_cluster_identity(Client(transport), CLUSTER)
        return {
            "kubeconfig": str(self._kubeconfig),
            "temporal_address": server.address,
            "temporal_namespace": server.namespace,
            "temporal_ui": server.ui,
            "cluster": cluster,
        }

    def _describe(self) -> None:
        if self._description:
            write_json(self._layout.description, {**self._description, "pids": dict(self._supervisor.pids)})


def run(directory: Path, kubeconfig: Path, nodes: Sequence[str]) -> None:
    """Run until a signal, on the main thread; raises DevclusterError and KubernetesError."""
    directory = directory.absolute()
    prepare(directory)
    with exclusive(directory):
        layout = Layout(directory, allocate(directory / "ports.json", PORTS))
        layout.logs.mkdir(exist_ok=True)
        layout.description.unlink(missing_ok=True)
        try:
            asyncio.run(run_until_terminated(_Servers(layout, kubeconfig, nodes).run()))
        finally:
            layout.description.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until a signal; exits with one sentence on an error."""
    parser = argparse.ArgumentParser(prog="servers", description="What the demo runs on this machine.")
    parser.add_argument("--dir", type=Path, required=True, help="directory for data and logs")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="kubeconfig through the guard")
    parser.add_argument("--node", action="append", default=[], help="name of a simulated node; repeat it")
    options = parser.parse_args(arguments)
    try:
        run(options.dir, options.kubeconfig, options.node)
    except (DevclusterError, KubernetesError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
