"""Openshift: what our rule of etcd needs of an OpenShift cluster.

On the control plane that all tests share a ClusterVersion would make every other one think of OpenShift.
"""

from datetime import timedelta
from typing import Any

import yaml

from devcluster.manifests import ROOT
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from health.kinds.right import Process, Right
from kube.client import Client
from kube.resource import NAMESPACES, Object, Resource
from runtime.rights import is_allowed

GROUP = "config.openshift.io"
DEFINITION = f"clusterversions.{GROUP}"
ETCD = "openshift-etcd"
CLUSTER_VERSIONS = Resource(f"{GROUP}/v1", "ClusterVersion", "clusterversions", namespaced=False)
BUDGETS = Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
PODS = Resource("v1", "Pod", "pods", namespaced=True)
ROLES = Resource("rbac.authorization.k8s.io/v1", "Role", "roles", namespaced=True)
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", namespaced=True)
RIGHTS = ROOT / "deploy" / "components" / "openshift" / "worker-etcd.yaml"
WORKER = "system:serviceaccount:paramedic-system:paramedic-worker"
GUARD = {"app": "guard"}
PATIENCE = timedelta(seconds=60)


class Openshift:
    """The namespace of etcd: its disruption budgets and guard Pods."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def make(self) -> None:
        await self.client.create(DEFINITIONS, _definition())
        await self.client.create(NAMESPACES, _object("v1", "Namespace", ETCD))
        await until(self._serves_cluster_versions, within=PATIENCE, otherwise="no ClusterVersions")

    async def forget(self) -> None:
        """Delete the ClusterVersion CRD, so that the cluster no longer looks like OpenShift."""
        await self.client.delete(DEFINITIONS, DEFINITION)

    async def grant(self) -> None:
        """Grant the worker the rights that users of OpenShift grant it."""
        role, binding = yaml.safe_load_all(RIGHTS.read_text())
        await self.client.create(ROLES, role, ETCD)
        await self.client.create(ROLE_BINDINGS, binding, ETCD)
        await until(self._worker_may, within=PATIENCE, otherwise="the worker got no rights")

    async def revoke(self) -> None:
        await self.client.delete(ROLE_BINDINGS, "paramedic-worker-etcd", ETCD)
        await self.client.delete(ROLES, "paramedic-worker-etcd", ETCD)
        await until(self._worker_may_not, within=PATIENCE, otherwise="the worker kept its rights")

    async def empty(self) -> None:
        for resource in (BUDGETS, PODS):
            for found in await self.client.list(resource, ETCD):
                await self.client.delete(resource, found["metadata"]["name"], ETCD)

    async def make_budget(self, name: str, allowed: int) -> None:
        body = _object("policy/v1", "PodDisruptionBudget", name)
        body["spec"] = {"minAvailable": 2, "selector": {"matchLabels": GUARD}}
        await self.client.create(BUDGETS, body, ETCD)
        status: Object = {
            "disruptionsAllowed": allowed,
            "currentHealthy": 2 + allowed,
            "desiredHealthy": 2,
            "expectedPods": 3,
        }
        await self.client.merge_patch(BUDGETS, name, {"status": status}, ETCD, subresource="status")

    async def make_guard(self, node: str, ready: str, labels: dict[str, str] | None = None) -> None:
        name = f"guard-{node}"
        body = _object("v1", "Pod", name)
        body["metadata"]["labels"] = GUARD if labels is None else labels
        container = {"name": "guard", "image": "guard"}
        body["spec"] = {"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}]}
        await self.client.create(PODS, body, ETCD)
        conditions = [{"type": "Ready", "status": ready}] if ready else []
        await self.client.merge_patch(
            PODS, name, {"status": {"conditions": conditions}}, ETCD, subresource="status"
        )

    async def _worker_may(self) -> bool:
        budgets = Right(
            process=Process.WORKER, group="policy", resource=BUDGETS.plural, verbs=("list",), namespace=ETCD
        )
        return await is_allowed(self.client, budgets, "list", {"user": WORKER})

    async def _worker_may_not(self) -> bool:
        return not await self._worker_may()

    async def _serves_cluster_versions(self) -> bool:
        found = await self.client.get(DEFINITIONS, DEFINITION)
        conditions = found.get("status", {}).get("conditions") or []
        return any(
            condition["type"] == "Established" and condition["status"] == "True" for condition in conditions
        )


def _object(api_version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


def _definition() -> Object:
    body = _object("apiextensions.k8s.io/v1", "CustomResourceDefinition", DEFINITION)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    body["spec"] = {
        "group": GROUP,
        "scope": "Cluster",
        "names": {"kind": "ClusterVersion", "plural": "clusterversions"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
        ],
    }
    return body
