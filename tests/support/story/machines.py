"""A namespace with Machines for one test, as the administrator of an OpenShift cluster sees it."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.errors import NotFound
from kube.resource import NAMESPACES, Object, Resource
from objects.timestamps import stamp
from tests.support.story.machine_check import CHECKS, Check
from tests.support.story.machine_incidents import CHECK, MachineIncidents
from tests.support.story.world import TEMPLATES, World

FINALIZER = "machine.test/hangs"
CONTROLLER = "replacer"
NEVER_STARTED: Object = {"phase": "Provisioned"}


class Machines(MachineIncidents):
    """Machines with the test's name as prefix; the Node of each has another name."""

    def __init__(self, world: World) -> None:
        super().__init__(world, MACHINE_HEALTH_CHECK.group)
        self._controller: Object = {}

    async def make(self) -> None:
        """Create the namespace and a MachineSet without a controller, so it creates no Machines."""
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
        """Add running Machines with healthy Nodes; the arguments extend their metadata."""
        names = list((await self.world.add_named_nodes(*suffixes)).values())
        await asyncio.gather(*(self.add_alone(name, name, **metadata) for name in names))
        return names

    async def add_orphan(self, suffix: str) -> str:
        """Add a running Machine without a controlling owner."""
        (name,) = await self.add(suffix, ownerReferences=[])
        return name

    async def add_alone(self, name: str, node: str, **metadata: Any) -> None:
        """Add a Machine with a link to that Node; "" means no Node yet."""
        body: Object = {"name": name, "ownerReferences": [self._controller]} | metadata
        made = await self.client.create(MACHINES, _typed(MACHINES, {"metadata": body}), self.namespace)
        self.uids[name] = made["metadata"]["uid"]
        status = {"phase": "Running", "nodeRef": {"name": node}} if node else NEVER_STARTED
        await self.set_status(name, **status, lastUpdated=stamp(datetime.now(UTC)))

    async def set_status(self, machine: str, **fields: Any) -> None:
        """Set the status as the machine controller does."""
        await self.client.merge_patch(MACHINES, machine, {"status": fields}, self.namespace, "status")

    async def set_metadata(self, machine: str, **fields: Any) -> None:
        """Set finalizers, annotations or owners of a Machine."""
        await self.client.merge_patch(MACHINES, machine, {"metadata": fields}, self.namespace)

    async def let_go(self, machine: str) -> None:
        """Remove the finalizer, as the machine controller does after the hardware is gone."""
        await self.set_metadata(machine, finalizers=None)

    async def add_template(self, name: str = "", spec: Object | None = None) -> Object:
        """Add a template; return the reference to it in a check."""
        reference = self.template(name)
        contents = {"metadata": {"labels": {"team": "infra"}}, "spec": {"powerOffSeconds": 7}}
        metadata = {"name": reference["name"]}
        body = _typed(TEMPLATES, {"metadata": metadata, "spec": spec or {"template": contents}})
        await self.client.create(TEMPLATES, body, self.namespace)
        return reference

    def template(self, name: str = "") -> dict[str, str]:
        """The reference to a template in a check."""
        return {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": name or CHECK}

    async def add_check(
        self, name: str = CHECK, annotations: dict[str, str] | None = None, **spec: Any
    ) -> Check:
        """Add a check over all Machines of the namespace; a timer of one second runs while Ready is Unknown.

        Fields of None are left out of its spec.
        """
        usual = {"unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "1s"}]}
        check = Check(self.world, name)
        wanted = {key: value for key, value in (usual | spec).items() if value is not None}
        await check.make(wanted, annotations or {})
        return check

    async def get(self, machine: str) -> Object | None:
        """The Machine, or None if it is gone."""
        try:
            return await self.client.get(MACHINES, machine, self.namespace)
        except NotFound:
            return None

    async def is_going(self, machine: str) -> bool:
        """True if the Machine is gone or being deleted."""
        found = await self.get(machine)
        return found is None or "deletionTimestamp" in found["metadata"]

    async def annotation(self, machine: str, key: str) -> str | None:
        """The value of an annotation of a Machine; None if missing."""
        found = await self.get(machine)
        value: str | None = ((found or {}).get("metadata", {}).get("annotations") or {}).get(key)
        return value

    async def until_going(self, *machines: str) -> None:
        """Wait until each Machine is gone or being deleted."""

        async def all_go() -> bool:
            return all([await self.is_going(machine) for machine in machines])

        await self.world.until(all_go, f"{machines} were never deleted")

    async def remove(self) -> None:
        """Delete all Machines and checks; the namespace stays until the control plane stops."""
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
