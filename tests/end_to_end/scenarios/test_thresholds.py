"""A dozen nodes fail at the same time."""

import re

import pytest

from tests.support.story.world import World

pytestmark = pytest.mark.cluster

FLEET = 12


@pytest.mark.rule(
    "NHC 1.5/RemediationSkipped/threshold",
    "NHC 2.0/check",
    "NHC 2.1/15",
    "NHC 2.2/concurrency",
    "NHC 2.7/check edited",
    "rule 6",
    "rule 43",
)
async def test_a_dozen_nodes_that_fail_at_once_get_no_request_until_the_threshold_allows_one_for_each(
    world: World,
) -> None:
    nodes = await world.add_nodes(FLEET)
    await world.add_check(minHealthy=FLEET)
    await world.until_status(observedNodes=FLEET, healthyNodes=FLEET)

    await world.fail(*nodes)

    for node in nodes:
        await world.until_phase(node, "Held")
        assert re.search(
            r"Threshold: \d+ of 12 unhealthy, at most 0 allowed", (await world.state(node)).details
        )
    await world.until_status(healthyNodes=0)
    await world.until_told("RemediationSkipped", f"should equal or exceed {FLEET}")
    skipped = [event for event in await world.events() if event[1] == "RemediationSkipped"]
    assert [(severity, f"should equal or exceed {FLEET}" in message) for severity, _, message in skipped] == [
        ("Warning", True)
    ]
    assert world.requests.entries == []

    # After the edit of the threshold, all held incidents may act.
    await world.edit_check(minHealthy=0)
    await world.until_requested(*nodes)

    await world.recover(*nodes)
    for node in nodes:
        assert await world.outcome(node) == "Remediated"
    await world.until_clean(*nodes)
    assert {world.requests.created(node) for node in nodes} == {1}
    await world.until_status(healthyNodes=FLEET, phase="Enabled", unhealthyNodes=None)
