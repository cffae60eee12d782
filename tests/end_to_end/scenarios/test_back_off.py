"""Back-off: a node that fails again right after its remediation waits before the next one."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from health.model.observation import HoldReason
from tests.support.story.escalation import created
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import REQUESTS, World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 14")]

LIMIT = timedelta(seconds=30)
"""Shorter than the first wait, so this limit is the wait; long enough to be observed on a busy machine."""


@pytest.fixture(scope="module")
def policy() -> str:
    """A limit short enough for a test."""
    return f"backOffLimit: {LIMIT.total_seconds():g}s"


async def until_after(world: World, time: datetime) -> None:
    async def is_over() -> bool:
        return datetime.now(UTC) >= time

    await world.until(is_over, f"it never was {time}")


async def until_held(world: World, node: str) -> datetime:
    """When the next remediation is due, according to the held incident."""

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
    """The wait also holds after a deletion of the request, but not after the node was healthy for as long."""
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
    # Creation times have whole seconds.
    assert created(await world.request(deleted)) >= removed + LIMIT - timedelta(seconds=1)
    for node in (again, deleted):
        assert world.requests.created(node) == 2
        assert await attempt(world, node) == "2"
        assert len(await _told(world, node)) == 1

    # Failure times have whole seconds.
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
    # A failure in the same second as the request would count as the failure that the request was for.
    await until_after(world, made + timedelta(seconds=1))


async def _until_told(world: World, node: str, why: str) -> None:
    """Wait for exactly one Event that a node waits, with the reason."""

    async def is_reported() -> bool:
        return [f"because of {why}" in message for message in await _told(world, node)] == [True]

    await world.until(is_reported, f"no Event said of {node} once: {why}")


async def _told(world: World, node: str) -> list[str]:
    """The Events of the check that a node waits."""
    skipped = f"Skipped remediation of node: {node}, "
    return [message for _, _, message in await world.events() if skipped in message]


async def attempt(world: World, node: str) -> str:
    """The attempt number in the request of a node."""
    annotations = (await world.request(node))["metadata"]["annotations"]
    return str(annotations.get("paramedic.dev/attempt", ""))
