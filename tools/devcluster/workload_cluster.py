"""A workload cluster of Cluster API: a second control plane, with its kubeconfig in the management cluster.

Cluster API keeps that kubeconfig in a Secret, with credentials inside instead of paths of files. A client
that can read the Secret has all rights in the workload cluster.
"""

import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import Object, Resource

SECRETS = Resource("v1", "Secret", "secrets", namespaced=True)
EXAMPLE = Path(__file__).parents[2] / "deploy" / "examples" / "kubeconfig-secrets.yaml"
_API = "rbac.authorization.k8s.io/v1"
_RBAC = {
    "Role": Resource(_API, "Role", "roles", namespaced=True),
    "RoleBinding": Resource(_API, "RoleBinding", "rolebindings", namespaced=True),
}
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
"""The label of all objects of a workload cluster."""


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
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {
            "name": secret_name(cluster),
            "namespace": namespace,
            "labels": {CLUSTER_NAME: cluster},
        },
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": base64.b64encode(kubeconfig.encode()).decode()},
    }


def grants(cluster: str, namespace: str) -> list[Object]:
    """The roles that let our processes read that Secret, from the example in `deploy/`."""
    text = EXAMPLE.read_text().replace(secret_name("my-cluster"), secret_name(cluster))
    found: list[Object] = list(yaml.safe_load_all(text))
    for grant in found:
        grant["metadata"]["namespace"] = namespace
    return found


async def publish_kubeconfig(
    management: Client, workload: ControlPlane, cluster: str, namespace: str = "default"
) -> None:
    """Store the admin kubeconfig of `workload` in `management`, as of the Cluster `cluster` in `namespace`.

    An earlier one is replaced. Our processes may read it. Raises KubernetesError.
    """
    for grant in grants(cluster, namespace):
        resource = _RBAC[grant["kind"]]
        with suppress(AlreadyExists):
            await management.create(resource, grant, namespace)
    secret = kubeconfig_secret(cluster, namespace, inline_kubeconfig(workload.kubeconfig))
    with suppress(AlreadyExists):
        await management.create(SECRETS, secret, namespace)
        return
    patch = {"data": secret["data"], "metadata": {"labels": secret["metadata"]["labels"]}}
    await management.merge_patch(SECRETS, secret_name(cluster), patch, namespace)
