"""`paramedic dev --cluster-api`: a workload cluster, and simulated controllers of Cluster API.

Its control plane lives in DIR/workload and has no Machines; the Cluster, MachineSets, Machines and health
checks are in the management cluster, like the Secret with the kubeconfig of the workload cluster.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from devcluster import assets, cluster_api_crds, control_plane, processes, workload_cluster
from devcluster.cluster_api_crds import NewestVersion
from devcluster.control_plane import ControlPlane
from devcluster.errors import OptionsError
from devcluster.layout import Layout, lay_out
from devcluster.simulation.machine_api import ClusterApi, MachineCondition, with_condition
from devcluster.supervisor import Supervisor
from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import Object
from kube.transport import Transport

CLUSTER, NAMESPACE = "workload", "default"
"""Name and namespace of the Cluster in the management cluster."""

FOLDER = "workload"
CONDITIONS = (
    MachineCondition(
        type="InfrastructureReady", status="True", reason="Ready", message="Kubelets are simulated."
    ),
    MachineCondition(
        type="ControlPlaneInitialized",
        status="True",
        reason="Initialized",
        message="The API server of the workload cluster answers.",
    ),
)


@dataclass(frozen=True)
class ClusterApiSettings:
    """The settings of the workload cluster. Raises SettingsError for values that make no sense."""

    newest: NewestVersion
    """The newest version that the management cluster serves; it may change between two runs on one
    directory."""
    provisioning: timedelta
    """How long a Machine waits for its simulated node."""

    def __post_init__(self) -> None:
        if self.provisioning <= timedelta():
            raise OptionsError(f"Machines need time for their provisioning, not {self.provisioning}")


def folder(directory: Path) -> Path:
    """The directory of the workload cluster, laid out like `directory`."""
    return directory / FOLDER


@dataclass(frozen=True)
class RunningWorkloadCluster:
    """A running workload cluster and its directory."""

    layout: Layout
    control_plane: ControlPlane


async def start_workload_cluster(
    supervisor: Supervisor,
    layout: Layout,
    servers: assets.Servers,
    management: ControlPlane,
    newest: NewestVersion,
) -> RunningWorkloadCluster:
    """Start the control plane, and register it in the management cluster.

    Raises NotReadyError, HopelessError and KubernetesError.
    """
    await cluster_api_crds.apply(management.kubeconfig, newest)
    own = lay_out(folder(layout.directory), prefix=f"{FOLDER}-")
    started = await control_plane.start(supervisor, own, servers, node_grace=processes.grace(0))
    async with await Transport.connect(str(management.kubeconfig)) as transport:
        client = Client(transport)
        await ensure_cluster(client, ClusterApi(newest.value))
        await workload_cluster.publish_kubeconfig(client, started, CLUSTER, NAMESPACE)
    return RunningWorkloadCluster(own, started)


async def ensure_cluster(client: Client, api: ClusterApi, name: str = CLUSTER) -> None:
    """Create the Cluster as initialized; an existing one stays as it is. Raises KubernetesError."""
    at = api.clusters
    cluster: Object = {"apiVersion": at.api_version, "kind": at.kind, "metadata": {"name": name}, "spec": {}}
    with suppress(AlreadyExists):
        await client.create(at, cluster, NAMESPACE)
    stored = await client.get(at, name, NAMESPACE)
    if "conditions" in stored.get("status", {}):
        return
    conditions: list[Object] = []
    for condition in CONDITIONS:
        conditions = with_condition(conditions, condition, api.version, datetime.now(UTC))
    status = {"phase": "Provisioned", "conditions": conditions}
    await client.merge_patch(at, name, {"status": status}, NAMESPACE, "status")
