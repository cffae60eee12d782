"""Proven recovery: a node counts as recovered after it has booted and stayed healthy for a time."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.remediation_request import BOOT_ID
from tests.support.story.escalation import Escalation, timed_out
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

SECONDS = 3


async def test_node_that_comes_back_without_a_boot_gets_the_next_step_and_keeps_its_requests_until_it_booted(
    world: World,
) -> None:
    escalation = Escalation(world)
    (node,) = await world.add_nodes(1)
    await world.set_boot_id(node, "boot-1")
    await escalation.add("first", "second", annotations={"paramedic.dev/proven-recovery": f"{SECONDS}s"})
    await world.fail(node)
    requests = await escalation.until_steps(node, "first")
    assert requests["first"]["metadata"]["annotations"][BOOT_ID] == "boot-1"

    await world.recover(node)
    await world.until_seen(node, lambda seen: seen.state == "Healthy")
    await world.until_phase(node, "Remediating")
    assert "but its boot ID boot-1 is the same as before the step" in (await world.state(node)).details
    await _until_status_is_that_of_the_reference(world)

    await escalation.report(node, "first", "False")
    requests = await escalation.until_steps(node, "first", "second")
    assert timed_out(requests["first"])
    assert not timed_out(requests["second"])

    booted = datetime.now(UTC)
    await world.set_boot_id(node, "boot-2")
    await world.until_phase(node, "HealthyDelay")
    assert "healthy with a new boot ID since" in (await world.state(node)).details
    assert await world.outcome(node) == "Remediated"
    assert datetime.now(UTC) >= booted + timedelta(seconds=SECONDS)
    await world.until_clean(node)
    await world.until_status(phase="Enabled", healthyNodes=1, unhealthyNodes=None)
    assert escalation.taken(node) == ["first", "second"]


async def _until_status_is_that_of_the_reference(world: World) -> None:
    """Wait for a status entry with the request, without an unhealthy condition or a healthyDelay."""

    async def is_so() -> bool:
        entries = (await world.status()).get("unhealthyNodes", [])
        return [set(entry) for entry in entries] == [{"name", "remediations", "conditionsHealthyTimestamp"}]

    await world.until(is_so, "the status never said that the node is healthy, and has its request")
    await world.until_status(phase="Remediating", observedNodes=1, healthyNodes=0)
