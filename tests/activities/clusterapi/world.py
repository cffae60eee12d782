"""One unhealthy Machine of Cluster API with its Cluster, check and template, in either version.

All objects but the Node are on a real API server. The Node is on a scripted one, which the kubeconfig Secret
of the Cluster names. A finalizer keeps a deleted Machine readable.
"""

import json
from contextlib import suppress
from typing import Any

from aiohttp import web

from health.kinds.clusterapi.cluster import CLUSTERS
from health.kinds.clusterapi.group import CLUSTER_NAME, V1BETA2
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.clusterapi.machine import MACHINES
from health.model.references import (
    Action,
    CheckReference,
    IncidentReference,
    Step,
    TargetReference,
)
from kube.client import Client
from kube.errors import NotFound
from kube.resource import EVENTS, LEASES, NODES, SECRETS, Object, Resource
from objects.group_kind import ServedKind
from objects.timestamps import stamp
from tests.activities.world import (
    DEMO,
    FINALIZER,
    LEASE_NAMESPACE,
    NAMESPACE,
    REQUESTS,
    SINCE,
    TEMPLATES,
    World,
)
from tests.support.api.api_server import ApiServer, refused, said
from tests.support.api.kubeconfigs import Pair, encoded, kubeconfig
from tests.support.values.builders import condition, node_object
from workflows.contracts import ActInput

MARK = Step(action=Action.MARK)
FOREIGN = [
    {"type": f"example.com/Of{number}", "status": "True", "lastTransitionTime": stamp(SINCE)}
    | {"reason": "Theirs", "message": f"of writer {number}"}
    for number in (1, 2, 3)
]


def resource(kind: ServedKind, api_version: str) -> Resource:
    """The resource of a kind in one version."""
    return Resource(api_version, kind.kind, kind.plural, kind.is_namespaced)


def ready(type_: str) -> Object:
    """A condition with the status True, as readiness gates need it."""
    return condition(type_, "True", SINCE) | {"reason": "Ready", "message": "it is"}


class ClusterApiWorld(World):
    """The objects of one test, which all have the same name."""

    def __init__(
        self, client: Client, name: str, workload: tuple[ApiServer, Pair], api_version: str = V1BETA2
    ) -> None:
        super().__init__(client, name)
        self.workload, self._pair = workload
        self.machines = resource(MACHINES, api_version)
        self.clusters = resource(CLUSTERS, api_version)
        self.checks = resource(CLUSTER_API_MACHINE_HEALTH_CHECK, api_version)
        self.machine_uid = ""
        self.node("False")
        self.workload.answer("GET", NODES.path(name=name), self._answer_node)
        self._is_old = api_version != V1BETA2

    async def make(self) -> None:
        """Create a Node that has not been ready for long, and all objects that its remediation needs."""
        await self.make_kubeconfig()
        await self._make(self.clusters, {"spec": {}})
        await self.patch_cluster(conditions=[ready("ControlPlaneInitialized"), ready("InfrastructureReady")])
        await self.make_machine()
        await self._make(self.checks, {"spec": self._spec()})
        await self._make(TEMPLATES, {"spec": {"template": {"spec": {"powerOffSeconds": 7}}}})

    async def make_kubeconfig(self, **user: str) -> None:
        """Store the kubeconfig of the workload cluster, with that user or with a token."""
        content = kubeconfig(f"https://127.0.0.1:{self.workload.port}", **user)
        content["clusters"][0]["cluster"]["certificate-authority-data"] = encoded(self._pair.certificate)
        body: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{self.name}-kubeconfig"}}
        await self.remove_kubeconfig()
        await self.client.create(SECRETS, body | {"data": {"value": encoded(json.dumps(content))}}, NAMESPACE)

    async def remove_kubeconfig(self) -> None:
        with suppress(NotFound):
            await self.client.delete(SECRETS, f"{self.name}-kubeconfig", NAMESPACE)

    def node(self, ready: str) -> None:
        """Set the Node in the workload cluster; "" removes it."""
        found = node_object(condition("Ready", ready, SINCE), name=self.name)
        self._node = said(found) if ready else refused(404, "NotFound", self.name)

    async def _answer_node(self, request: web.Request) -> web.StreamResponse:
        return await self._node(request)

    async def make_machine(self, **metadata: Any) -> None:
        metadata = {"labels": {CLUSTER_NAME: self.name}, "finalizers": [FINALIZER], **metadata}
        body = {"metadata": {"name": self.name, **metadata}, "spec": {"clusterName": self.name}}
        self.machine_uid = (await self._make(self.machines, body))["metadata"]["uid"]
        await self.patch_status(nodeRef={"name": self.name})

    async def remove(self) -> None:
        await self.remove_machine()
        await self.remove_kubeconfig()
        for kind, name, namespace in (
            (self.checks, self.name, NAMESPACE),
            (self.clusters, self.name, NAMESPACE),
            (TEMPLATES, self.name, NAMESPACE),
            (REQUESTS, self.name, NAMESPACE),
            (LEASES, self.lease_name, LEASE_NAMESPACE),
        ):
            with suppress(NotFound):
                await self.client.delete(kind, name, namespace)

    async def remove_machine(self) -> None:
        with suppress(NotFound):
            await self.patch_machine(finalizers=None)
            await self.client.delete(self.machines, self.name, NAMESPACE)

    async def make_machine_anew(self) -> None:
        """Replace the Machine by another one of the same name."""
        uid = self.machine_uid
        await self.remove_machine()
        await self.make_machine()
        self.machine_uid = uid

    async def patch_machine(self, **metadata: Any) -> None:
        await self.client.merge_patch(self.machines, self.name, {"metadata": metadata}, NAMESPACE)

    async def annotate_machine(self, annotation: str) -> None:
        await self.patch_machine(annotations={f"cluster.x-k8s.io/{annotation}": ""})

    async def patch_status(self, **status: Any) -> None:
        body: Object = {"status": status}
        await self.client.merge_patch(self.machines, self.name, body, NAMESPACE, "status")

    async def pause_check(self) -> None:
        body: Object = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}
        await self.client.merge_patch(self.checks, self.name, body, NAMESPACE)

    async def pause_cluster(self) -> None:
        body: Object = {"spec": {"paused": True}}
        await self.client.merge_patch(self.clusters, self.name, body, NAMESPACE)

    async def patch_cluster(self, **status: Any) -> None:
        body: Object = {"status": status}
        await self.client.merge_patch(self.clusters, self.name, body, NAMESPACE, "status")

    async def remove_cluster(self) -> None:
        await self.client.delete(self.clusters, self.name, NAMESPACE)

    async def use_template(self) -> None:
        """Let the check create requests; this makes its generation 2."""
        named = {"apiVersion": DEMO, "kind": TEMPLATES.kind, "name": self.name}
        spec = {"remediationTemplate": named} if self._is_old else {"remediation": {"templateRef": named}}
        await self.client.merge_patch(self.checks, self.name, {"spec": spec}, NAMESPACE)

    async def machine(self) -> Object:
        return await self.client.get(self.machines, self.name, NAMESPACE)

    async def conditions(self, *path: str) -> dict[str, Object]:
        """The conditions of the Machine in one of its lists, by type."""
        found = (await self.machine()).get("status", {})
        for field in path:
            found = found.get(field, {})
        return {one["type"]: one for one in found.get("conditions", [])}

    async def is_marked(self) -> bool:
        return "OwnerRemediated" in await self.conditions()

    async def events(self) -> list[Object]:
        found = await self.client.list(EVENTS, NAMESPACE)
        return [event for event in found if event["involvedObject"]["name"] == self.name]

    async def lease(self) -> Any:
        """The spec of the Machine's Lease; None if there is none, or it has no holder."""
        spec = await self._lease(self.lease_name)
        return spec if spec and spec.get("holderIdentity") else None

    @property
    def lease_name(self) -> str:
        return f"machine.cluster.x-k8s.io-{NAMESPACE}.{self.name}"

    @property
    def incident(self) -> IncidentReference:
        kind = CLUSTER_API_MACHINE_HEALTH_CHECK
        return IncidentReference(
            cluster="test",
            check=CheckReference(kind=kind.kind, group=kind.group, namespace=NAMESPACE, name=self.name),
            target=TargetReference(
                kind=MACHINES.kind,
                group=MACHINES.group,
                namespace=NAMESPACE,
                name=self.name,
                uid=self.machine_uid,
            ),
        )

    def order(self, **changes: object) -> ActInput:
        return super().order(step=MARK).model_copy(update=changes)

    async def _make(self, kind: Resource, body: Object) -> Object:
        named = {"metadata": {"name": self.name}, "apiVersion": kind.api_version, "kind": kind.kind}
        return await self.client.create(kind, {**named, **body}, NAMESPACE)

    def _spec(self) -> Object:
        selects = {"clusterName": self.name, "selector": {"matchLabels": {CLUSTER_NAME: self.name}}}
        rule: Object = {"type": "Ready", "status": "False"}
        if self._is_old:
            return selects | {"unhealthyConditions": [rule | {"timeout": "5m"}]}
        return selects | {"checks": {"unhealthyNodeConditions": [rule | {"timeoutSeconds": 300}]}}
