"""The stage of one scenario: its narrator, and the clients of its servers."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from temporalio.client import Client as TemporalClient
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter

from devcluster.demo.cluster_view import ClusterView, MachineSeen, MachineView, NodeSeen, OpenShiftView
from devcluster.demo.fixtures import CHECK, CHECKS, CLUSTER_API, NAMESPACE, OWN_CLUSTER, NodeFixtures
from devcluster.demo.narrator import SOON, Narrator, seen
from devcluster.demo.process import DevDescription, DevProcess
from devcluster.errors import DemoFailedError
from devcluster.programs import kubectl
from devcluster.simulation.resources import MACHINES, NODE_HEALTH_CHECKS
from health.model.incident_result import IncidentResult
from health.model.references import CheckReference, IncidentReference, TargetReference
from kube.client import Client
from kube.resource import NODES
from kube.transport import Transport

IncidentHandle = WorkflowHandle[object, IncidentResult]


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """How a scenario is played in one kind of cluster."""

    nodes: NodeFixtures = OWN_CLUSTER
    silence: str = "Kubernetes waits for a heartbeat of {node}."
    """The text while a silent kubelet is not noticed yet."""
    silence_noticed_within: timedelta = SOON
    advice: str = ""
    """The likely cause if it is not noticed, and what to do."""
    longest: timedelta = timedelta(seconds=120)
    """The limit for the scenario, without the start, in which servers may have to be built."""
    kubectl_options: str | None = None
    """The options of kubectl for this cluster; None selects the kubeconfig of the servers."""
    stay: bool = False
    """Keep everything running after the story, until Ctrl-C."""
    stays: str = "Everything keeps running until Ctrl-C."


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A running devcluster, and the clients connected to it."""

    narrator: Narrator
    options: PlayOptions
    process: DevProcess
    dev: DevDescription
    """The description from the start of the scenario."""
    temporal: TemporalClient
    cluster: ClusterView
    """The cluster of the nodes."""
    openshift: OpenShiftView
    cluster_api: MachineView

    def show(self, heading: str, text: str) -> None:
        """Show an address or a command to copy, which works while everything runs."""
        until = "" if self.options.stay else " (until the end of the story; --stay keeps it up)"
        self.narrator.show(f"{heading}{until}", text)

    def kubectl(self, arguments: str, kubeconfig: Path | None = None) -> str:
        """A command line for the cluster of the checks, or for that of `kubeconfig`."""
        options = f"--kubeconfig {kubeconfig or self.dev.kubeconfig}"
        return f"{kubectl()} {self.options.kubectl_options or options} {arguments}"

    async def incident(self, target: NodeSeen | MachineSeen, since: datetime) -> IncidentHandle | None:
        """The run of the workflow for that Node or Machine, once it began after `since`. Raises RPCError."""
        id_ = workflow_id(self.dev.cluster, target, self.options.nodes.check)
        run = await self.temporal.get_workflow_handle(id_).describe()
        if run.start_time < since:
            return None
        return self.temporal.get_workflow_handle(id_, run_id=run.run_id, result_type=IncidentResult)


def workflow_id(cluster: str, target: NodeSeen | MachineSeen, check_of_nodes: str = CHECK) -> str:
    """The id of the workflow that the detector starts for that Node or Machine."""
    check = CheckReference(kind=NODE_HEALTH_CHECKS.kind, name=check_of_nodes)
    reference = TargetReference(kind=NODES.kind, name=target.name, uid=target.uid)
    if isinstance(target, MachineSeen):
        place = {"group": target.group, "namespace": NAMESPACE}
        check = CheckReference(kind=CHECKS.kind, name=CHECK, **place)
        reference = TargetReference(kind=MACHINES.kind, name=target.name, uid=target.uid, **place)
    return IncidentReference(cluster=cluster, check=check, target=reference).workflow_id


def page(dev: DevDescription, id_: str, run_id: str) -> str:
    """The address of a run of a workflow in the Temporal UI."""
    workflow = quote(id_, safe="")
    return f"{dev.temporal_ui}/namespaces/{dev.temporal_namespace}/workflows/{workflow}/{run_id}/history"


async def outcome(run: IncidentHandle) -> str | None:
    """The outcome of the workflow, None while it is open.

    Raises RPCError, and DemoFailedError if it did not complete.
    """
    status = (await run.describe()).status
    if status is None or status is WorkflowExecutionStatus.RUNNING:
        return None
    if status is not WorkflowExecutionStatus.COMPLETED:
        raise DemoFailedError(f"The workflow {run.id} did not complete, it is {status.name}.")
    return (await run.result()).outcome


@asynccontextmanager
async def stage(process: DevProcess, options: PlayOptions, narrator: Narrator) -> AsyncIterator[Stage]:
    """Connect to a devcluster as soon as it is ready, without a limit: servers may have to be built first."""
    dev = await seen(process.description)
    try:
        temporal = await TemporalClient.connect(
            dev.temporal_address,
            namespace=dev.temporal_namespace,
            data_converter=pydantic_data_converter,
        )
    except RuntimeError as error:  # the SDK raises it if it cannot connect
        raise DemoFailedError(f"Temporal at {dev.temporal_address} does not answer: {error}") from error
    async with AsyncExitStack() as connections:

        async def connected(kubeconfig: Path) -> Client:
            transport = await connections.enter_async_context(await Transport.connect(str(kubeconfig)))
            return Client(transport, "paramedic-demo")

        client = await connected(dev.kubeconfig)
        workload = dev.workload_kubeconfig
        cluster = ClusterView(await connected(workload) if workload else client, options.nodes)
        yield Stage(
            narrator=narrator,
            options=options,
            process=process,
            dev=dev,
            temporal=temporal,
            cluster=cluster,
            openshift=OpenShiftView(client, cluster),
            cluster_api=MachineView(client, cluster, CLUSTER_API),
        )
