"""A node that fails again right after its remediation is left in peace for a while."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from health.model.observation import HoldReason
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.escalation import created
from tests.end_to_end.world import REQUESTS, World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 14")]

LIMIT = timedelta(seconds=30)
"""Shorter than the first wait, so that it is the wait; long enough for a busy machine to see it."""


@pytest.fixture(scope="module")
def policy() -> str:
    """A limit that a test can wait for."""
    return f"backOffLimit: {LIMIT.total_seconds():g}s"


async def until_after(world: World, time: datetime) -> None:
    """Return at that time."""

    async def is_over() -> bool:
        return datetime.now(UTC) >= time

    await world.until(is_over, f"it never was {time}")


async def until_held(world: World, node: str) -> datetime:
    """When the next remediation is due, as the incident says while it is held."""

    async def is_held() -> bool:
        state = await world.state(node)
        seen = state.observation
        return seen is not None and seen.hold is not None and seen.hold.reason is HoldReason.BACK_OFF

    await world.until_phase(node, "Held")
    await world.until(is_held, f"{node} was not held by back-off")
    state = await world.state(node)
    found = re.search(r"BackOff: 2nd remediation in a row, due at (\S+Z)", state.details)
    assert found is not None, state.details
    return datetime.fromisoformat(found[1])


@pytest.mark.rule("rule 14/event", "rule 14/deleted request", "rule 14/reset")
async def test_remediation_that_follows_another_waits_visibly_until_it_is_due_over_a_restart(
    world: World, paramedic: Paramedic
) -> None:
    """Also where somebody deleted the request, but not where the node was healthy for as long."""
    again, deleted, rested = (await world.add_named_nodes("again", "deleted", "rested")).values()
    await world.add_check()
    await _remediate(world, again, rested)
    ended = datetime.now(UTC)
    await world.fail(again, deleted)
    due = await until_held(world, again)
    await world.until_requested(deleted)
    removed = datetime.now(UTC)
    await world.client.delete(REQUESTS, deleted, "default")
    await world.until_phase(deleted, "Held")
    await _until_told(world, again, "BackOff: 2nd remediation in a row, due at ")
    await _until_told(
        world, deleted, "BackOff: its request was removed by another actor, the next one is due at "
    )
    await paramedic.detector.kill()
    await paramedic.detector.start_ready()

    await world.until_requested(again, deleted)
    assert created(await world.request(again)) >= due
    # Creations are cut to whole seconds.
    assert created(await world.request(deleted)) >= removed + LIMIT - timedelta(seconds=1)
    for node in (again, deleted):
        assert world.requests.created(node) == 2
        assert await attempt(world, node) == "2"
        assert len(await _told(world, node)) == 1

    # Times of failures are cut to whole seconds.
    await until_after(world, ended + LIMIT + timedelta(seconds=1))
    await world.fail(rested)
    await world.until_requested(rested)
    assert await attempt(world, rested) == ""
    assert await _told(world, rested) == []


async def _remediate(world: World, *nodes: str) -> None:
    await world.fail(*nodes)
    await world.until_requested(*nodes)
    made = max([created(await world.request(node)) for node in nodes])
    await world.recover(*nodes)
    for node in nodes:
        assert await world.outcome(node) == "Remediated"
    await world.until_clean(*nodes)
    # A failure in the very second of the request would be taken for the one that it was made for.
    await until_after(world, made + timedelta(seconds=1))


async def _until_told(world: World, node: str, why: str) -> None:
    """Return when an Event says once that a node waits, and why."""

    async def is_told() -> bool:
        return [f"because of {why}" in message for message in await _told(world, node)] == [True]

    await world.until(is_told, f"no Event said of {node} once: {why}")


async def _told(world: World, node: str) -> list[str]:
    """The Events of the check which say that a node waits."""
    skipped = f"Skipped remediation of node: {node}, "
    return [message for _, _, message in await world.events() if skipped in message]


async def attempt(world: World, node: str) -> str:
    """What the request of a node says of which one in a row it is."""
    annotations = (await world.request(node))["metadata"]["annotations"]
    return str(annotations.get("paramedic.dev/attempt", ""))
