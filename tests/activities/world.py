"""One unhealthy node with its check and template on the real API server, with unique names."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.references import (
    CheckReference,
    IncidentReference,
    RequestReference,
    Step,
    TargetReference,
    TemplateReference,
)
from health.model.verdict import Fact
from kube.client import Client
from kube.errors import NotFound
from kube.lease import CONTROL_PLANE_LOCK, LeaseHolder, for_target, new_lease
from kube.resource import LEASES, NODES, Object, Resource
from objects.timestamps import stamp
from workflows.contracts import ActInput

DEMO = "demo.paramedic.dev/v1"
REQUESTS = Resource(DEMO, "PowerCycleRemediation", "powercycleremediations", namespaced=True)
TEMPLATES = Resource(DEMO, "PowerCycleRemediationTemplate", "powercycleremediationtemplates", namespaced=True)
POD_TEMPLATES = Resource("v1", "PodTemplate", "podtemplates", namespaced=True)
NAMESPACE = "default"
LEASE_NAMESPACE = "medik8s-leases"
WANTS_EVIDENCE = {"paramedic.dev/evidence": "ConfigMap"}
SINCE = datetime(2025, 1, 1, tzinfo=UTC)
FINALIZER = "tests.paramedic.dev/hangs"


class World:
    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self.label = f"tests.paramedic.dev/{name}"
        self.node_uid = ""
        self.check_uid = ""

    async def make(self) -> None:
        self.node_uid = (await self.make_node())["metadata"]["uid"]
        self.check_uid = (await self.client.create(NODE_HEALTH_CHECKS, self._check()))["metadata"]["uid"]
        await self.make_template()

    async def remove(self) -> None:
        for request in await self.client.list(REQUESTS, NAMESPACE):
            if request["metadata"]["name"].startswith(self.name):
                await self.remove_request(request["metadata"]["name"])
        for resource, name, namespace in (
            (LEASES, f"node-{self.name}", LEASE_NAMESPACE),
            (LEASES, CONTROL_PLANE_LOCK, LEASE_NAMESPACE),
            (TEMPLATES, self.name, NAMESPACE),
            (POD_TEMPLATES, self.name, NAMESPACE),
            (NODE_HEALTH_CHECKS, self.name, ""),
            (NODES, self.name, ""),
        ):
            with suppress(NotFound):
                await self.client.delete(resource, name, namespace)

    async def make_node(self) -> Object:
        metadata = {"name": self.name, "labels": {self.label: "yes"}}
        created = await self.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        await self.set_condition("False")
        return created

    async def set_condition(self, status: str, since: datetime = SINCE) -> None:
        condition = {
            "type": "Ready",
            "status": status,
            "lastTransitionTime": stamp(since),
            "lastHeartbeatTime": stamp(since),
            "reason": "Tested",
            "message": "",
        }
        body: Object = {"status": {"conditions": [condition]}}
        await self.client.merge_patch(NODES, self.name, body, subresource="status")

    async def patch_node(self, **metadata: Any) -> None:
        await self.client.merge_patch(NODES, self.name, {"metadata": metadata})

    async def patch_check(self, **spec: Any) -> None:
        await self.client.merge_patch(NODE_HEALTH_CHECKS, self.name, {"spec": spec})

    async def make_template(self, annotations: dict[str, str] | None = None) -> None:
        body: Object = {
            "apiVersion": DEMO,
            "kind": TEMPLATES.kind,
            "metadata": {"name": self.name, "namespace": NAMESPACE, "annotations": annotations or {}},
            "spec": {"template": {"spec": {"powerOffSeconds": 7}}},
        }
        await self.client.create(TEMPLATES, body, NAMESPACE)

    async def remove_template(self) -> None:
        await self.client.delete(TEMPLATES, self.name, NAMESPACE)

    async def make_pod_template(self) -> None:
        """Create an object of a template kind without spec.template.spec."""
        container = {"name": "c", "image": "i"}
        body: Object = {
            "apiVersion": "v1",
            "kind": POD_TEMPLATES.kind,
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "template": {"spec": {"containers": [container]}},
        }
        await self.client.create(POD_TEMPLATES, body, NAMESPACE)

    async def set_finalizer(self) -> None:
        body: Object = {"metadata": {"finalizers": [FINALIZER]}}
        await self.client.merge_patch(REQUESTS, self.name, body, NAMESPACE)

    async def make_request(
        self,
        *,
        of_another: bool = False,
        finalizers: tuple[str, ...] = (),
        annotations: dict[str, str] | None = None,
        name: str = "",
    ) -> RequestReference:
        """Create a request with the node's name, of this check or of another owner.

        Its owners exist, else the garbage collector of the cluster would delete the request.
        """
        node = {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": self.node_uid}
        body: Object = {
            "apiVersion": DEMO,
            "kind": REQUESTS.kind,
            "metadata": {
                "name": name or self.name,
                "namespace": NAMESPACE,
                "finalizers": list(finalizers),
                "annotations": annotations or {},
                "ownerReferences": [node if of_another else self.check_owner],
            },
        }
        created = await self.client.create(REQUESTS, body, NAMESPACE)
        return RequestReference(
            api_version=DEMO,
            kind=REQUESTS.kind,
            namespace=NAMESPACE,
            name=name or self.name,
            uid=created["metadata"]["uid"],
        )

    async def remove_request(self, name: str) -> None:
        with suppress(NotFound):
            await self.client.merge_patch(REQUESTS, name, {"metadata": {"finalizers": None}}, NAMESPACE)
            await self.client.delete(REQUESTS, name, NAMESPACE)

    async def make_lease(
        self, holder: str, renewed: datetime, name: str = "", lock: str | None = None
    ) -> None:
        name = name or f"node-{self.name}"
        lease = new_lease(name, LEASE_NAMESPACE, holder, timedelta(minutes=10), renewed, None)
        lease = for_target(lease, LeaseHolder(holder, lock=lock))
        await self.client.create(LEASES, lease, LEASE_NAMESPACE)

    async def request(self) -> Any:
        """The request of the node; None if there is none."""
        found = await self.client.list(REQUESTS, NAMESPACE)
        mine = [request for request in found if request["metadata"]["name"].startswith(self.name)]
        assert len(mine) <= 1
        return mine[0] if mine else None

    async def lease(self) -> Any:
        """The spec of the node's Lease; None if there is none."""
        return await self._lease(f"node-{self.name}")

    async def control_plane_lock(self) -> Any:
        """The spec of the control-plane lock's Lease; None if there is none."""
        return await self._lease(CONTROL_PLANE_LOCK)

    async def _lease(self, name: str) -> Any:
        try:
            found = await self.client.get(LEASES, name, LEASE_NAMESPACE)
        except NotFound:
            return None
        return found["spec"]

    @property
    def check_owner(self) -> Object:
        """The check, as the owner of a request."""
        return {
            "apiVersion": NODE_HEALTH_CHECKS.api_version,
            "kind": NODE_HEALTH_CHECKS.kind,
            "name": self.name,
            "uid": self.check_uid,
        }

    @property
    def incident(self) -> IncidentReference:
        return IncidentReference(
            cluster="test",
            check=CheckReference(kind="NodeHealthCheck", name=self.name),
            target=TargetReference(kind="Node", name=self.name, uid=self.node_uid),
        )

    @property
    def holder(self) -> str:
        return self.incident.check.lease_holder

    def order(self, **changes: object) -> ActInput:
        """The order of an incident whose observation equals the world as created."""
        template = TemplateReference(
            api_version=DEMO, kind=TEMPLATES.kind, namespace=NAMESPACE, name=self.name
        )
        asked = ActInput(
            incident=self.incident,
            run_id="run-1",
            step=Step(template=template),
            fact=Fact(condition="Ready", status="False", since=SINCE),
            seen_at=datetime.now(UTC),
            generation=1,
        )
        return asked.model_copy(update=changes)

    def order_request(self, **changes: object) -> ActInput:
        """The order of the incident of a Machine after its check got a template."""
        template = TemplateReference(
            api_version=DEMO, kind=TEMPLATES.kind, namespace=NAMESPACE, name=self.name
        )
        return self.order(step=Step(template=template), generation=2).model_copy(update=changes)

    async def order_with_template(self, api_version: str, kind: str, name: str = "") -> ActInput:
        """The order of an incident after the check was edited to name this template."""
        template = TemplateReference(
            api_version=api_version, kind=kind, namespace=NAMESPACE, name=name or self.name
        )
        named = {"apiVersion": api_version, "kind": kind, "namespace": NAMESPACE, "name": template.name}
        await self.patch_check(remediationTemplate=named)
        return self.order(step=Step(template=template), generation=2)

    async def order_with_timeout(self, seconds: float) -> ActInput:
        """The order of an incident after the check was edited to give its step this timeout."""
        order = self.order()
        template = order.step.template
        named = {"apiVersion": DEMO, "kind": template.kind, "namespace": NAMESPACE, "name": self.name}
        escalation = {"remediationTemplate": named, "order": 1, "timeout": f"{seconds:g}s"}
        await self.patch_check(remediationTemplate=None, escalatingRemediations=[escalation])
        step = order.step.model_copy(update={"timeout_seconds": seconds})
        return order.model_copy(update={"step": step, "generation": 2})

    def _check(self) -> Object:
        template = {"apiVersion": DEMO, "kind": TEMPLATES.kind, "namespace": NAMESPACE, "name": self.name}
        spec = {
            "selector": {"matchLabels": {self.label: "yes"}},
            "minHealthy": 0,
            "remediationTemplate": template,
        }
        return {
            "apiVersion": NODE_HEALTH_CHECKS.api_version,
            "kind": NODE_HEALTH_CHECKS.kind,
            "metadata": {"name": self.name, "annotations": dict(WANTS_EVIDENCE)},
            "spec": spec,
        }
