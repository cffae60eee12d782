"""Thirty nodes fail at once."""

import pytest

from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

FLEET = 30


async def test_thirty_nodes_that_fail_at_once_get_no_request_while_the_threshold_allows_none(
    world: World, paramedic: Paramedic
) -> None:
    nodes = await world.add_nodes(FLEET)
    await world.add_check(minHealthy=1)
    await paramedic.start()
    await world.until_status(observedNodes=FLEET, healthyNodes=FLEET)

    await world.fail(*nodes)

    for node in nodes:
        await world.until_phase(node, "Held")
        assert "held: 30 of 30 unhealthy, at most 29 allowed" in (await world.state(node)).details
    skipped = [event for event in await world.events() if event[1] == "RemediationSkipped"]
    text = "the number of healthy nodes selected by the selector is 0 and should equal or exceed 1"
    assert [(severity, text in message) for severity, _, message in skipped] == [("Warning", True)]
    assert world.requests.entries == []

    # One recovers, and so the threshold allows the others.
    await world.recover(nodes[0])
    await world.until_requested(*nodes[1:])
    assert world.requests.created(nodes[0]) == 0


async def test_thirty_nodes_that_fail_at_once_all_get_a_request_where_the_threshold_allows_it(
    world: World, paramedic: Paramedic
) -> None:
    nodes = await world.add_nodes(FLEET)
    await world.add_check(minHealthy="0%")
    await paramedic.start()
    await world.until_status(observedNodes=FLEET, healthyNodes=FLEET)

    await world.fail(*nodes)
    await world.until_requested(*nodes)
    await world.recover(*nodes)

    for node in nodes:
        assert await world.outcome(node) == "Remediated"
    await world.until_clean(*nodes)
    assert {world.requests.created(node) for node in nodes} == {1}
    await world.until_status(healthyNodes=FLEET, phase="Enabled", unhealthyNodes=None)
