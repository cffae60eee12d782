"""A workload cluster of Cluster API: a second control plane, with its kubeconfig in the management cluster.

With `paramedic dev --cluster-api` it lives in DIR/workload and has no Machines; the Cluster, MachineSets,
Machines and health checks are in the management cluster. Cluster API keeps the kubeconfig in a Secret, with
credentials inside instead of paths of files. A client that can read the Secret has all rights in the workload
cluster.
"""

import base64
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from devcluster import assets, cluster_api_crds, control_plane, processes
from devcluster.cluster_api_crds import NewestVersion
from devcluster.control_plane import ControlPlane
from devcluster.layout import Layout, lay_out
from devcluster.simulation.machine_api import CLUSTER_NAME, ClusterApi, MachineCondition, with_condition
from devcluster.supervisor import Supervisor
from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import SECRETS, Object, Resource
from kube.transport import Transport

CLUSTER, NAMESPACE = "workload", "default"
"""Name and namespace of the Cluster in the management cluster."""
EXAMPLE = Path(__file__).parents[2] / "deploy" / "examples" / "kubeconfig-secrets.yaml"
_API = "rbac.authorization.k8s.io/v1"
_RBAC = {
    "Role": Resource(_API, "Role", "roles", namespaced=True),
    "RoleBinding": Resource(_API, "RoleBinding", "rolebindings", namespaced=True),
}
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


async def start_workload_cluster(  # noqa: PLR0913  servers of two clusters, and two options
    supervisor: Supervisor,
    layout: Layout,
    servers: assets.Servers,
    management: Path,
    *,
    newest: NewestVersion,
    provisioning: timedelta,
) -> Path:
    """Start the control plane with simulated nodes, and register it in the management cluster.

    Returns the kubeconfig of its admin. `layout` and the kubeconfig `management` are of that cluster. Raises
    NotReadyError, HopelessError and KubernetesError.
    """
    await cluster_api_crds.apply(management, newest)
    own = lay_out(layout.directory / CLUSTER, prefix=f"{CLUSTER}-")
    started = await control_plane.start(supervisor, own, servers, node_grace=processes.grace(0))
    async with await Transport.connect(str(management)) as transport:
        client = Client(transport)
        await ensure_cluster(client, ClusterApi(newest.value))
        await publish_kubeconfig(client, started, CLUSTER, NAMESPACE)
    nodes = processes.simulation(
        own,
        started.kubeconfig,
        renewal=processes.renewal(0),
        provisioning=provisioning,
        management=management,
    )
    await supervisor.start(nodes)
    return started.kubeconfig


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


def secret_name(cluster: str) -> str:
    return f"{cluster}-kubeconfig"


def inline_kubeconfig(kubeconfig: Path) -> str:
    """One of our kubeconfigs with the content of its files inside, in JSON, which YAML parsers read."""
    content: dict[str, Any] = json.loads(kubeconfig.read_text())
    for entry in content["clusters"]:
        authority = Path(entry["cluster"].pop("certificate-authority")).read_bytes()
        entry["cluster"]["certificate-authority-data"] = base64.b64encode(authority).decode()
    return json.dumps(content, indent=2) + "\n"


def kubeconfig_secret(cluster: str, namespace: str, kubeconfig: str) -> Object:
    """The Secret that Cluster API keeps for a workload cluster."""
    labels = {CLUSTER_NAME: cluster}
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {"name": secret_name(cluster), "namespace": namespace, "labels": labels},
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": base64.b64encode(kubeconfig.encode()).decode()},
    }


async def publish_kubeconfig(
    management: Client, workload: ControlPlane, cluster: str, namespace: str = "default"
) -> None:
    """Store the admin kubeconfig of `workload` in `management`, as of the Cluster `cluster` in `namespace`.

    An earlier one is replaced. Our processes may read it, by the example in `deploy/`. Raises
    KubernetesError.
    """
    text = EXAMPLE.read_text().replace(secret_name("my-cluster"), secret_name(cluster))
    for grant in yaml.safe_load_all(text):
        grant["metadata"]["namespace"] = namespace
        with suppress(AlreadyExists):
            await management.create(_RBAC[grant["kind"]], grant, namespace)
    secret = kubeconfig_secret(cluster, namespace, inline_kubeconfig(workload.kubeconfig))
    with suppress(AlreadyExists):
        await management.create(SECRETS, secret, namespace)
        return
    patch = {"data": secret["data"], "metadata": {"labels": secret["metadata"]["labels"]}}
    await management.merge_patch(SECRETS, secret_name(cluster), patch, namespace)
