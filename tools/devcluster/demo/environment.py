"""The environment of a scenario: clients of both servers, and pids."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client as TemporalClient
from temporalio.contrib.pydantic import pydantic_data_converter

from devcluster.demo.cluster_view import ClusterApiView, ClusterView, OpenShiftView
from devcluster.demo.dev_description import DevDescription
from devcluster.demo.dev_process import DevProcess
from devcluster.demo.fixtures import OWN_CLUSTER, NodeFixtures
from devcluster.demo.settings import DemoSettings
from devcluster.demo.upgrade_view import SimulatedUpgrade
from devcluster.errors import DemoFailedError
from devcluster.programs import kubectl
from kube.client import Client
from kube.transport import Transport


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A running devcluster and the clients connected to it."""

    process: DevProcess
    dev: DevDescription
    """The description from the start of the scenario."""
    cluster: ClusterView
    """The cluster of the nodes."""
    machines: OpenShiftView
    cluster_api: ClusterApiView
    upgrade: SimulatedUpgrade
    temporal: TemporalClient
    stays: bool
    """Whether everything keeps running after the scenario."""
    nodes: NodeFixtures = OWN_CLUSTER
    kubectl_options: str = ""
    """How a person reaches the cluster; "": by the kubeconfig of the description."""

    def worker(self) -> int:
        """The pid of the present worker; raises DemoFailedError if none runs."""
        pid = self._pid()
        if pid is None:
            raise DemoFailedError("No worker runs.")
        return pid

    async def other_worker(self, than: int) -> int | None:
        """The pid of the worker, once it is not `than`."""
        pid = self._pid()
        return pid if pid != than else None

    def kubectl(self, arguments: str) -> str:
        """A command line for this cluster, for a person to copy."""
        options = self.kubectl_options or f"--kubeconfig {self.dev.kubeconfig}"
        return f"{kubectl()} {options} {arguments}"

    def kubectl_of_workload(self, arguments: str) -> str:
        return f"{kubectl()} --kubeconfig {self.dev.workload_kubeconfig} {arguments}"

    def _pid(self) -> int | None:
        now = self.process.describe()
        return now.pids.get("worker") if now else None


@asynccontextmanager
async def environment(
    process: DevProcess,
    settings: DemoSettings,
    nodes: NodeFixtures = OWN_CLUSTER,
    kubectl_options: str = "",
) -> AsyncIterator[Environment]:
    """Connect to a devcluster as soon as it is ready."""
    dev = await process.ready()
    temporal = await _connect_to_temporal(dev)
    workload = dev.workload_kubeconfig
    async with AsyncExitStack() as stack:

        async def connected(kubeconfig: Path) -> Client:
            transport = await stack.enter_async_context(await Transport.connect(str(kubeconfig)))
            return Client(transport, "paramedic-demo")

        client = await connected(dev.kubeconfig)
        cluster = ClusterView(await connected(workload) if workload else client, nodes)
        machines, of_cluster_api = OpenShiftView(client, cluster), ClusterApiView(client, cluster)
        upgrade = SimulatedUpgrade(client, machines, cluster)
        yield Environment(
            process=process,
            dev=dev,
            cluster=cluster,
            machines=machines,
            cluster_api=of_cluster_api,
            upgrade=upgrade,
            temporal=temporal,
            stays=settings.stay,
            nodes=nodes,
            kubectl_options=kubectl_options,
        )


async def _connect_to_temporal(dev: DevDescription) -> TemporalClient:
    try:
        return await TemporalClient.connect(
            dev.temporal_address,
            namespace=dev.temporal_namespace,
            data_converter=pydantic_data_converter,
        )
    except RuntimeError as error:  # the SDK raises it if it cannot connect
        raise DemoFailedError(f"Temporal at {dev.temporal_address} does not answer: {error}") from error
