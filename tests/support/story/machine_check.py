"""A MachineHealthCheck of a test, of either API group."""

from dataclasses import dataclass
from typing import Any

from health.check.annotated_hold import PAUSED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.resource import Object, Resource, resource_of
from tests.support.story.world import World

CHECKS = resource_of(MACHINE_HEALTH_CHECK)


@dataclass(frozen=True)
class Check:
    """A check in the namespace of the test."""

    world: World
    name: str
    resource: Resource = CHECKS

    async def make(self, spec: Object, annotations: dict[str, str]) -> None:
        body: Object = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": self.name, "annotations": annotations},
            "spec": spec,
        }
        await self.world.client.create(self.resource, body, self.world.name)

    async def get(self) -> Object:
        return await self.world.client.get(self.resource, self.name, self.world.name)

    async def edit(self, **spec: Any) -> None:
        await self._patch({"spec": spec})

    async def annotate(self, key: str, value: str | None) -> None:
        await self._patch({"metadata": {"annotations": {key: value}}})

    async def pause(self, value: str = "") -> None:
        await self.annotate(PAUSED, value)

    async def unpause(self) -> None:
        await self.annotate(PAUSED, None)

    async def delete(self) -> None:
        await self.world.client.delete(self.resource, self.name, self.world.name)

    async def version(self) -> str:
        """The resourceVersion, which changes with every write to the check or its status."""
        version: str = (await self.get())["metadata"]["resourceVersion"]
        return version

    async def condition(self, type_: str) -> dict[str, str]:
        """A condition of the status, without its time; empty if missing."""
        listed: list[dict[str, str]] = (await self.get()).get("status", {}).get("conditions", [])
        found = next((condition for condition in listed if condition["type"] == type_), {})
        return {key: value for key, value in found.items() if key not in ("type", "lastTransitionTime")}

    async def until_condition(self, type_: str, **fields: str) -> dict[str, str]:
        """Wait until the condition has these values, and return it."""
        last: dict[str, str] = {}

        async def says_so() -> bool:
            last.clear()
            last.update(await self.condition(type_))
            return fields.items() <= last.items()

        await self.world.until(says_so, f"{type_} of {self.name} never said {fields}")
        return last

    async def until_without(self, type_: str) -> None:
        """Wait until the status has no such condition."""

        async def has_none() -> bool:
            return not await self.condition(type_)

        await self.world.until(has_none, f"{type_} never went")

    async def until_numbers(self, expected: int, healthy: int, allowed: int) -> None:
        wanted = {"expectedMachines": expected, "currentHealthy": healthy, "remediationsAllowed": allowed}

        async def says_so() -> bool:
            status: Object = (await self.get()).get("status", {})
            return wanted.items() <= status.items()

        await self.world.until(says_so, f"the status of {self.name} never said {wanted}")

    async def _patch(self, body: Object) -> None:
        await self.world.client.merge_patch(self.resource, self.name, body, self.world.name)
