"""A second NodeHealthCheck beside the check of a test, over nodes that the test selects."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.errors import NotFound
from kube.resource import EVENTS, Object
from tests.support.story.world import TEMPLATES, World


@dataclass(frozen=True)
class SecondCheck:
    world: World
    name: str

    async def status(self) -> Object:
        check = await self.world.client.get(NODE_HEALTH_CHECKS, self.name)
        status: Object = check.get("status", {})
        return status

    async def until_status(self, **fields: object) -> None:
        """Wait until its status has these fields."""

        async def is_so() -> bool:
            status = await self.status()
            return all(status.get(name) == value for name, value in fields.items())

        await self.world.until(is_so, f"the status of {self.name} never had {fields}")

    async def delete(self) -> None:
        await self.world.client.delete(NODE_HEALTH_CHECKS, self.name)

    async def events(self) -> list[tuple[str, str, str]]:
        """Type, reason and message of its Events."""
        return await events_of(self.world, self.name)


@asynccontextmanager
async def second_check(
    world: World, *, template: Object | None = None, selector: dict[str, str] | None = None, **spec: object
) -> AsyncIterator[SecondCheck]:
    """A check over the nodes of the test, or over those with these labels; it is deleted after the block."""
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
    """Type, reason and message of the Events of a check, in the order of their creation."""
    found = [e for e in await world.client.list(EVENTS, "default") if e["involvedObject"]["name"] == check]
    found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [(event["type"], event["reason"], event["message"]) for event in found]


async def until_told(world: World, check: str, reason: str, message: str) -> None:
    """Wait for a Warning about a check that begins with that text."""
    begin = f"[remediation] {message}"

    async def is_reported() -> bool:
        told = [event[2] for event in await events_of(world, check) if event[:2] == ("Warning", reason)]
        return any(words.startswith(begin) for words in told)

    await world.until(is_reported, f"{reason}: {begin} was never told of {check}")
