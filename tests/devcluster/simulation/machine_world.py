"""One test's MachineSet, its Machines and their Nodes, as their administrator sees them."""

import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

from devcluster.polling import until
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from kube.client import Client
from kube.errors import NotFound, TooManyRequests
from kube.resource import NODES, Object

NAMESPACE = "default"
PATIENCE = timedelta(seconds=60)


class MachineWorld:
    """A MachineSet with a name of its own."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.name = f"set-{uuid.uuid4().hex[:6]}"
        self._labels = {"machine.openshift.io/cluster-api-machineset": self.name}

    async def until_served(self) -> None:
        async def is_served() -> bool:
            try:
                await self.machines()
            except TooManyRequests:
                return False
            return True

        await self.until(is_served, "Machines are not served")

    async def add_set(self, replicas: int) -> None:
        """The MachineSet; its nodes get the label `pool`."""
        template = {
            "metadata": {"labels": self._labels},
            "spec": {
                "metadata": {"labels": {"pool": self.name}},
                "providerSpec": {"value": {"instanceType": "large"}},
            },
        }
        spec = {"replicas": replicas, "selector": {"matchLabels": self._labels}, "template": template}
        kind = {"apiVersion": MACHINE_SETS.api_version, "kind": MACHINE_SETS.kind}
        body = kind | {"metadata": {"name": self.name}, "spec": spec}
        await self.client.create(MACHINE_SETS, body, NAMESPACE)

    async def scale(self, replicas: int) -> None:
        patch = {"spec": {"replicas": replicas}}
        await self.client.merge_patch(MACHINE_SETS, self.name, patch, NAMESPACE, "scale")

    async def machine_set(self) -> Object:
        return await self.client.get(MACHINE_SETS, self.name, NAMESPACE)

    async def ready_replicas(self) -> int:
        """How many ready Machines the set says there are; 0 until it says so."""
        status: Object = (await self.machine_set()).get("status", {})
        return int(status.get("readyReplicas", 0))

    async def machines(self) -> list[Object]:
        return await self.client.list(
            MACHINES, NAMESPACE, ",".join(f"{k}={v}" for k, v in self._labels.items())
        )

    async def machine(self, name: str) -> Object | None:
        return next((m for m in await self.machines() if m["metadata"]["name"] == name), None)

    async def delete_machine(self, name: str) -> None:
        """Ask for the deletion of a Machine."""
        await self.client.delete(MACHINES, name, NAMESPACE)

    async def nodes(self) -> dict[str, Object]:
        """The Nodes of the set, by name."""
        nodes = await self.client.list(NODES, label_selector=f"pool={self.name}")
        return {node["metadata"]["name"]: node for node in nodes}

    async def until_running(self, count: int) -> list[Object]:
        """Return the Machines once there are `count`, all run, and the set says that they are ready."""

        async def all_run() -> bool:
            machines = await self.machines()
            run = [machine for machine in machines if machine.get("status", {}).get("phase") == "Running"]
            return len(machines) == len(run) == await self.ready_replicas() == count

        await self.until(all_run, f"there never were {count} running Machines")
        return await self.machines()

    async def until_gone(self, name: str) -> None:
        async def is_gone() -> bool:
            return await self.machine(name) is None

        await self.until(is_gone, f"{name} is still there")

    async def until(self, true: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        await until(true, within=PATIENCE, otherwise=otherwise)

    async def remove(self) -> None:
        """Delete everything while the stand-in still removes the finalizers of Machines."""
        with suppress(NotFound):
            await self.client.delete(MACHINE_SETS, self.name, NAMESPACE)
        for machine in await self.machines():
            with suppress(NotFound):
                await self.delete_machine(machine["metadata"]["name"])

        async def nothing_is_left() -> bool:
            return not await self.machines() and not await self.nodes()

        await self.until(nothing_is_left, "Machines or Nodes are left")
