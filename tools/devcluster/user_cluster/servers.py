"""`python -m devcluster.user_cluster.servers`: Temporal, our processes and the simulation of a demo.

Everything runs on this machine and reaches the cluster with the rights of the kubeconfig. DIR/dev.json exists
while everything is ready. SIGTERM and SIGINT end it.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from temporalio.client import Client as TemporalClient

from devcluster import processes, temporal
from devcluster.errors import DevclusterError
from devcluster.files import write_json
from devcluster.layout import Layout, allocate, exclusive, prepare
from devcluster.processes import OURS
from devcluster.progress import print_progress
from devcluster.simulation.termination import run_until_terminated
from devcluster.supervisor import Supervisor
from devcluster.user_cluster.cluster import CHECK_KIND, CLUSTER, NAMESPACE
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.errors import KubernetesError
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


async def serve(layout: Layout, kubeconfig: Path) -> None:
    """Run everything until cancelled. Raises DevclusterError and KubernetesError."""
    description: dict[str, object] = {}

    def describe() -> None:
        if description:
            write_json(layout.description, {**description, "pids": dict(supervisor.pids)})

    async with Supervisor(changed=describe) as supervisor:
        print_progress("starting Temporal, the detector and the worker on this machine")
        server = await temporal.start(supervisor, layout)
        client = await TemporalClient.connect(server.address, namespace=server.namespace)
        await search_attributes.register(client, server.namespace)
        for name in OURS:
            program = processes.of_cluster(name, layout, kubeconfig, server, SETTINGS)
            await supervisor.start(program)
        await supervisor.start(processes.simulation(layout, kubeconfig, renewal=processes.renewal(0)))
        for name in OURS:
            await processes.until_ready(supervisor, layout, name)
        supervisor.require_hope()
        async with await Transport.connect(str(kubeconfig)) as transport:
            cluster = await read_cluster_identity(Client(transport), CLUSTER)
        description |= {
            "kubeconfig": str(kubeconfig),
            "temporal_address": server.address,
            "temporal_namespace": server.namespace,
            "temporal_ui": server.ui,
            "cluster": cluster,
        }
        describe()
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until a signal, on the main thread; exits with one sentence on an error."""
    parser = argparse.ArgumentParser(prog="servers", description="What the demo runs on this machine.")
    parser.add_argument("--dir", type=Path, required=True, help="directory for data and logs")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="kubeconfig of the demo's account")
    options = parser.parse_args(arguments)
    directory: Path = options.dir.absolute()
    try:
        prepare(directory)
        with exclusive(directory):
            layout = Layout(directory, allocate(directory / "ports.json", PORTS))
            layout.logs.mkdir(exist_ok=True)
            layout.description.unlink(missing_ok=True)
            try:
                asyncio.run(run_until_terminated(serve(layout, options.kubeconfig)))
            finally:
                layout.description.unlink(missing_ok=True)
    except (DevclusterError, KubernetesError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
