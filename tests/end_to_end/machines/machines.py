"""Machines: a namespace with Machines, as the administrator of an OpenShift cluster sees it, for one test."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.errors import NotFound
from kube.resource import NAMESPACES, Object, Resource
from objects.timestamps import stamp
from tests.end_to_end.machines.check import CHECKS, Check
from tests.end_to_end.machines.machine_incidents import CHECK, MachineIncidents
from tests.end_to_end.world import TEMPLATES, World

FINALIZER = "machine.test/hangs"
CONTROLLER = "replacer"
NEVER_STARTED: Object = {"phase": "Provisioned"}


class Machines(MachineIncidents):
    """Machines whose names begin with that of the test, each with a Node of its own name."""

    def __init__(self, world: World) -> None:
        super().__init__(world, MACHINE_HEALTH_CHECK.group)
        self._controller: Object = {}

    async def make(self) -> None:
        """The namespace, and a MachineSet that nobody looks after: it makes no Machines."""
        await self.client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        body = _typed(MACHINE_SETS, {"metadata": {"name": CONTROLLER}, "spec": {"replicas": 0}})
        made = await self.client.create(MACHINE_SETS, body, self.namespace)
        self._controller = {
            "apiVersion": MACHINE_SETS.api_version,
            "kind": MACHINE_SETS.kind,
            "name": CONTROLLER,
            "uid": made["metadata"]["uid"],
            "controller": True,
        }

    async def add(self, *suffixes: str, **metadata: Any) -> list[str]:
        """Running Machines with healthy Nodes, and this beside the usual metadata."""
        names = list((await self.world.add_named_nodes(*suffixes)).values())
        await asyncio.gather(*(self.add_alone(name, name, **metadata) for name in names))
        return names

    async def add_orphan(self, suffix: str) -> str:
        """A running Machine that no controller owns."""
        (name,) = await self.add(suffix, ownerReferences=[])
        return name

    async def add_alone(self, name: str, node: str, **metadata: Any) -> None:
        """A Machine that is linked to that Node, or ("") to none yet."""
        body: Object = {"name": name, "ownerReferences": [self._controller]} | metadata
        made = await self.client.create(MACHINES, _typed(MACHINES, {"metadata": body}), self.namespace)
        self.uids[name] = made["metadata"]["uid"]
        status = {"phase": "Running", "nodeRef": {"name": node}} if node else NEVER_STARTED
        await self.set_status(name, **status, lastUpdated=stamp(datetime.now(UTC)))

    async def set_status(self, machine: str, **fields: Any) -> None:
        """As the machine controller does."""
        await self.client.merge_patch(MACHINES, machine, {"status": fields}, self.namespace, "status")

    async def set_metadata(self, machine: str, **fields: Any) -> None:
        """Change metadata of a Machine; its kept finalizers, annotations or owners."""
        await self.client.merge_patch(MACHINES, machine, {"metadata": fields}, self.namespace)

    async def let_go(self, machine: str) -> None:
        """Its hardware is gone: the finalizer that kept it goes as well."""
        await self.set_metadata(machine, finalizers=None)

    async def add_template(self, name: str = "", spec: Object | None = None) -> Object:
        """A template in the namespace; answers how a check refers to it."""
        reference = self.template(name)
        contents = {"metadata": {"labels": {"team": "infra"}}, "spec": {"powerOffSeconds": 7}}
        metadata = {"name": reference["name"]}
        body = _typed(TEMPLATES, {"metadata": metadata, "spec": spec or {"template": contents}})
        await self.client.create(TEMPLATES, body, self.namespace)
        return reference

    def template(self, name: str = "") -> dict[str, str]:
        """How a check refers to a template."""
        return {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": name or CHECK}

    async def add_check(
        self, name: str = CHECK, annotations: dict[str, str] | None = None, **spec: Any
    ) -> Check:
        """A check over all Machines of the namespace, due one second after Ready is Unknown.

        What is None is left out of its spec.
        """
        usual = {"unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "1s"}]}
        check = Check(self.world, name)
        wanted = {key: value for key, value in (usual | spec).items() if value is not None}
        await check.make(wanted, annotations or {})
        return check

    async def get(self, machine: str) -> Object | None:
        """A Machine; None if it is gone."""
        try:
            return await self.client.get(MACHINES, machine, self.namespace)
        except NotFound:
            return None

    async def is_going(self, machine: str) -> bool:
        """Whether it is gone or being deleted."""
        found = await self.get(machine)
        return found is None or "deletionTimestamp" in found["metadata"]

    async def annotation(self, machine: str, key: str) -> str | None:
        """What an annotation of a Machine says; None if it is not there."""
        found = await self.get(machine)
        value: str | None = ((found or {}).get("metadata", {}).get("annotations") or {}).get(key)
        return value

    async def until_going(self, *machines: str) -> None:
        """Return when each is gone or being deleted."""

        async def all_go() -> bool:
            return all([await self.is_going(machine) for machine in machines])

        await self.world.until(all_go, f"{machines} were never deleted")

    async def remove(self) -> None:
        """Leave no Machine and no check behind; the namespace may go with the control plane."""
        for check in await self.client.list(CHECKS, self.namespace):
            await self.client.delete(CHECKS, check["metadata"]["name"], self.namespace)
        for machine in await self.client.list(MACHINES, self.namespace):
            name = machine["metadata"]["name"]
            if "deletionTimestamp" not in machine["metadata"]:
                await self.client.delete(MACHINES, name, self.namespace)
            if machine["metadata"].get("finalizers"):
                await self.let_go(name)


def _typed(resource: Resource, body: Object) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}
