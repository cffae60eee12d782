"""SecondCheck: another NodeHealthCheck beside the one of a test, over nodes that the test chooses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.errors import NotFound
from kube.resource import EVENTS, Object
from tests.end_to_end.world import TEMPLATES, World


@dataclass(frozen=True)
class SecondCheck:
    """A check that exists."""

    world: World
    name: str

    async def status(self) -> Object:
        """Its status."""
        check = await self.world.client.get(NODE_HEALTH_CHECKS, self.name)
        status: Object = check.get("status", {})
        return status

    async def until_status(self, **fields: object) -> None:
        """Return when its status has these fields."""

        async def is_so() -> bool:
            status = await self.status()
            return all(status.get(name) == value for name, value in fields.items())

        await self.world.until(is_so, f"the status of {self.name} never had {fields}")

    async def delete(self) -> None:
        """Delete it."""
        await self.world.client.delete(NODE_HEALTH_CHECKS, self.name)

    async def events(self) -> list[tuple[str, str, str]]:
        """Type, reason and message of its Events."""
        return await events_of(self.world, self.name)


@asynccontextmanager
async def second_check(
    world: World, *, template: Object | None = None, selector: dict[str, str] | None = None, **spec: object
) -> AsyncIterator[SecondCheck]:
    """A check over the same nodes as the check of the test, or those with these labels, until the end."""
    own = {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind}
    body: Object = {
        "apiVersion": NODE_HEALTH_CHECKS.api_version,
        "kind": NODE_HEALTH_CHECKS.kind,
        "metadata": {"name": f"{world.name}-second"},
        "spec": {
            "selector": {"matchLabels": selector or {"test": world.name}},
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "duration": "1s"}],
            "remediationTemplate": template or own | {"name": world.name, "namespace": "default"},
            "minHealthy": 0,
        }
        | spec,
    }
    await world.client.create(NODE_HEALTH_CHECKS, body)
    second = SecondCheck(world, f"{world.name}-second")
    yield second
    with suppress(NotFound):
        await second.delete()


async def events_of(world: World, check: str) -> list[tuple[str, str, str]]:
    """Type, reason and message of the Events of a check, in the order of their writing."""
    found = [e for e in await world.client.list(EVENTS, "default") if e["involvedObject"]["name"] == check]
    found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [(event["type"], event["reason"], event["message"]) for event in found]


async def until_told(world: World, check: str, reason: str, message: str) -> None:
    """Return when a Warning that begins with that text was written about a check."""
    begin = f"[remediation] {message}"

    async def is_told() -> bool:
        told = [one[2] for one in await events_of(world, check) if one[:2] == ("Warning", reason)]
        return any(words.startswith(begin) for words in told)

    await world.until(is_told, f"{reason}: {begin} was never told of {check}")
