"""One unhealthy Machine with its Node and its check, on the real API server.

The Machine has a controller, and a finalizer keeps a deleted Machine readable.
"""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from devcluster.simulation.resources import MACHINES
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.references import (
    Action,
    CheckReference,
    IncidentReference,
    RequestReference,
    Step,
    TargetReference,
)
from health.model.verdict import Fact
from kube.errors import NotFound
from kube.resource import EVENTS, LEASES, NODES, Object, Resource, resource_of
from tests.activities.world import (
    DEMO,
    FINALIZER,
    LEASE_NAMESPACE,
    NAMESPACE,
    REQUESTS,
    TEMPLATES,
    WANTS_EVIDENCE,
    World,
)
from workflows.contracts import ActInput

CHECKS = resource_of(MACHINE_HEALTH_CHECK)
CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps", namespaced=True)
DELETE, MARK = Step(action=Action.DELETE), Step(action=Action.MARK)
STRATEGY = {"machine.openshift.io/remediation-strategy": "external-baremetal"}


class MachineWorld(World):
    """The objects of one test; the Machine, its Node and its check have the same name."""

    machine_uid = ""

    async def make(self) -> None:
        self.node_uid = (await self.make_node())["metadata"]["uid"]
        await self.make_template()
        await self.make_machine()
        await self.client.create(CHECKS, self._machine_check(), NAMESPACE)

    async def remove(self) -> None:
        for event in await self.events():
            await self.client.delete(EVENTS, event["metadata"]["name"], NAMESPACE)
        await self.remove_machine()
        for resource in (CHECKS, CONFIG_MAPS):
            with suppress(NotFound):
                await self.client.delete(resource, self.name, NAMESPACE)
        with suppress(NotFound):
            await self.client.delete(LEASES, self.machine_lease_name, LEASE_NAMESPACE)
        await super().remove()

    async def make_machine(self) -> None:
        """Create the Machine, linked to its Node; a ConfigMap stands for its controller."""
        body: Object = {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": {"name": self.name}}
        owner = await self.client.create(CONFIG_MAPS, body, NAMESPACE)
        await self.create_machine(owner["metadata"]["uid"])

    async def create_machine(self, owner_uid: str) -> None:
        owner = {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "name": self.name, "uid": owner_uid}
        metadata = {
            "name": self.name,
            "labels": {self.label: "yes"},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner | {"controller": True}],
        }
        body: Object = {"apiVersion": MACHINES.api_version, "kind": MACHINES.kind, "metadata": metadata}
        created = await self.client.create(MACHINES, body, NAMESPACE)
        self.machine_uid = created["metadata"]["uid"]
        status = {"phase": "Running", "nodeRef": {"name": self.name}}
        await self.client.merge_patch(MACHINES, self.name, {"status": status}, NAMESPACE, "status")

    async def make_machine_anew(self) -> None:
        """Replace the Machine by another one of the same name."""
        (owner,) = (await self.machine() or {})["metadata"]["ownerReferences"]
        await self.remove_machine()
        await self.create_machine(owner["uid"])

    async def remove_machine(self) -> None:
        with suppress(NotFound):
            await self.patch_machine(finalizers=None)
            await self.client.delete(MACHINES, self.name, NAMESPACE)

    async def patch_machine(self, **metadata: Any) -> None:
        await self.client.merge_patch(MACHINES, self.name, {"metadata": metadata}, NAMESPACE)

    async def fail_machine(self) -> None:
        body: Object = {"status": {"phase": "Failed"}}
        await self.client.merge_patch(MACHINES, self.name, body, NAMESPACE, "status")

    async def annotate_check(self, annotations: dict[str, str | None]) -> None:
        body: Object = {"metadata": {"annotations": annotations}}
        await self.client.merge_patch(CHECKS, self.name, body, NAMESPACE)

    async def use_template(self) -> None:
        """Let the check create requests; this makes its generation 2."""
        template = {"apiVersion": DEMO, "kind": TEMPLATES.kind, "name": self.name}
        body: Object = {"spec": {"remediationTemplate": template}}
        await self.client.merge_patch(CHECKS, self.name, body, NAMESPACE)

    async def remove_node(self) -> None:
        await self.client.delete(NODES, self.name)

    async def make_machine_request(
        self, *, annotations: dict[str, str] | None = None, owners: tuple[Object, ...] = ()
    ) -> RequestReference:
        """Create a request with the Machine's name; its owners are `owners` and then the Machine."""
        machine = {
            "apiVersion": MACHINES.api_version,
            "kind": MACHINES.kind,
            "name": self.name,
            "uid": self.machine_uid,
        }
        metadata = {
            "name": self.name,
            "annotations": annotations or {},
            "ownerReferences": [*owners, machine],
        }
        body: Object = {"apiVersion": DEMO, "kind": REQUESTS.kind, "metadata": metadata}
        created = await self.client.create(REQUESTS, body, NAMESPACE)
        uid = created["metadata"]["uid"]
        return RequestReference(
            api_version=DEMO, kind=REQUESTS.kind, namespace=NAMESPACE, name=self.name, uid=uid
        )

    async def machine(self) -> Any:
        try:
            return await self.client.get(MACHINES, self.name, NAMESPACE)
        except NotFound:
            return None

    async def is_being_deleted(self) -> bool:
        machine = await self.machine()
        return machine is not None and "deletionTimestamp" in machine["metadata"]

    async def is_marked(self) -> bool:
        machine = await self.machine()
        annotations = machine["metadata"].get("annotations", {}) if machine else {}
        return annotations.get("host.metal3.io/external-remediation") == ""

    async def events(self) -> list[Object]:
        found = await self.client.list(EVENTS, NAMESPACE)
        return [event for event in found if self._is_about_machine(event["involvedObject"])]

    def _is_about_machine(self, regarding: Object) -> bool:
        return (regarding["kind"], regarding["name"]) == (MACHINES.kind, self.name)

    async def machine_lease(self) -> Any:
        """The spec of the Machine's Lease; None if there is none."""
        return await self._lease(self.machine_lease_name)

    @property
    def machine_lease_name(self) -> str:
        return f"machine-{NAMESPACE}.{self.name}"

    @property
    def incident(self) -> IncidentReference:
        return IncidentReference(
            cluster="test",
            check=CheckReference(kind=MACHINE_HEALTH_CHECK.kind, namespace=NAMESPACE, name=self.name),
            target=TargetReference(
                kind=MACHINES.kind, namespace=NAMESPACE, name=self.name, uid=self.machine_uid
            ),
        )

    def order(self, **changes: object) -> ActInput:
        return super().order(step=DELETE).model_copy(update=changes)

    async def order_as_node_is_gone(self) -> ActInput:
        """The order of an incident that sees no Node; the Machine itself reports no time."""
        machine = await self.machine()
        assert machine is not None
        since = datetime.fromisoformat(machine["metadata"]["creationTimestamp"])
        return self.order(fact=Fact(condition="Node", status="gone", since=since.astimezone(UTC)))

    def _machine_check(self) -> Object:
        spec = {
            "selector": {"matchLabels": {self.label: "yes"}},
            "unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "5m"}],
        }
        return {
            "apiVersion": CHECKS.api_version,
            "kind": CHECKS.kind,
            "metadata": {"name": self.name, "annotations": dict(WANTS_EVIDENCE)},
            "spec": spec,
        }
