"""A node that fails again right after its remediation is left in peace for a while."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from health.model.observation import HoldReason
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.world import REQUESTS, World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 14")]

LIMIT_SECONDS = 15
"""Shorter than the first wait, so that it is the wait."""


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """A limit that a test can wait for."""
    return {"PARAMEDIC_BACK_OFF_LIMIT_SECONDS": str(LIMIT_SECONDS)}


@pytest.fixture
async def healthy_node(world: World) -> str:
    """A node that never failed."""
    (name,) = await world.add_nodes(1)
    await world.add_check(duration="1s")
    return name


@pytest.fixture
async def node(world: World, healthy_node: str) -> str:
    """A node that was remediated and has recovered."""
    await remediate(world, healthy_node)
    return healthy_node


async def remediate(world: World, node: str) -> datetime:
    """Answers a moment before it ended."""
    await world.fail(node)
    await world.until_requested(node)
    made = await made_at(world, node)
    recovered = datetime.now(UTC)
    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    # A failure in the very second of the request would be taken for the one that it was made for.
    await until_after(world, made + timedelta(seconds=1))
    return recovered


async def made_at(world: World, node: str) -> datetime:
    """When its request was created."""
    return datetime.fromisoformat((await world.request(node))["metadata"]["creationTimestamp"])


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


@pytest.mark.rule("rule 14/event")
async def test_remediation_that_follows_another_waits_visibly_until_it_is_due(
    world: World, node: str, paramedic: Paramedic
) -> None:
    await world.fail(node)
    due = await until_held(world, node)

    await world.until(lambda: is_told(world, second(node)), "no Event told of it")
    await paramedic.detector.kill()
    await paramedic.detector.start_ready()

    await world.until_requested(node)
    assert datetime.now(UTC) >= due
    assert len(await told(world, second(node))) == 1
    assert world.requests.created(node) == 2
    assert await attempt(world, node) == "2"


async def test_a_detector_that_starts_anew_knows_what_ended_before(
    world: World, healthy_node: str, paramedic: Paramedic
) -> None:
    ended = await remediate(world, healthy_node)
    await paramedic.detector.kill()
    await world.fail(healthy_node)
    await paramedic.detector.start_ready()

    await world.until_requested(healthy_node)
    # Creations are cut to whole seconds.
    assert await made_at(world, healthy_node) >= ended + timedelta(seconds=LIMIT_SECONDS - 1)
    assert await attempt(world, healthy_node) == "2"


@pytest.mark.rule("rule 14/deleted request", "rule 14/event")
async def test_request_that_somebody_deletes_while_its_node_is_unhealthy_counts(
    world: World, healthy_node: str
) -> None:
    await world.fail(healthy_node)
    await world.until_requested(healthy_node)
    deleted = datetime.now(UTC)
    await world.client.delete(REQUESTS, healthy_node, "default")

    await world.until_phase(healthy_node, "Held")
    details = (await world.state(healthy_node)).details
    found = re.search(r"BackOff: its request was removed by somebody, the next one is due at \S+Z", details)
    assert found is not None, details
    words = f"[remediation] Skipped remediation of node: {healthy_node}, because of {found[0]}"
    await world.until(lambda: is_told(world, words), "no Event told of it")
    await world.until_requested(healthy_node)

    assert datetime.now(UTC) >= deleted + timedelta(seconds=LIMIT_SECONDS)
    assert await attempt(world, healthy_node) == "2"


@pytest.mark.rule("rule 14/reset")
async def test_node_that_was_healthy_for_the_limit_is_remediated_at_once(world: World, node: str) -> None:
    # Times of failures are cut to whole seconds.
    await until_after(world, datetime.now(UTC) + timedelta(seconds=LIMIT_SECONDS + 1))
    began = datetime.now(UTC)
    await world.fail(node)

    await world.until_requested(node)

    assert datetime.now(UTC) < began + timedelta(seconds=LIMIT_SECONDS)
    assert await attempt(world, node) == ""


def second(node: str) -> str:
    """What is told of a node that waits for its second remediation in a row."""
    return f"Skipped remediation of node: {node}, because of BackOff: 2nd remediation in a row, due at "


async def told(world: World, words: str) -> list[str]:
    """The Events of the check that say so."""
    return [message for _, _, message in await world.events() if words in message]


async def is_told(world: World, words: str) -> bool:
    return bool(await told(world, words))


async def attempt(world: World, node: str) -> str:
    """What the request of a node says of which one in a row it is."""
    annotations = (await world.request(node))["metadata"]["annotations"]
    return str(annotations.get("paramedic.dev/attempt", ""))
