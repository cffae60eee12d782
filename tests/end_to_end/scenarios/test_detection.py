"""Which nodes are detected, and when."""

from datetime import timedelta

import pytest

from tests.support.story.world import World

pytestmark = pytest.mark.cluster

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@pytest.mark.rule("rule 12", "NHC 2.1/14")
async def test_a_node_that_is_unhealthy_when_it_is_created_is_remediated(world: World) -> None:
    await world.add_check()
    (node,) = await world.add_nodes(1, ready="Unknown")

    await world.until_requested(node)
    await world.until_status(observedNodes=1, healthyNodes=0)


@pytest.mark.rule("NHC 2.0/node selector label", "NHC 2.1/8", "NHC 2.1/12", "NHC 2.7/check edited")
async def test_labels_bring_a_node_into_a_check_and_out_of_it(world: World) -> None:
    inside, outside = await world.add_nodes(2)
    await world.add_check(
        selector={
            "matchLabels": {"test": world.name},
            "matchExpressions": [{"key": "role", "operator": "In", "values": ["worker", "spare"]}],
        }
    )
    await world.set_label(inside, "role", "worker")
    await world.until_status(observedNodes=1, healthyNodes=1)
    await world.fail(inside, outside)
    await world.until_requested(inside)
    assert not await world.has_incident(outside)

    await world.set_label(outside, "role", "spare")
    await world.until_requested(outside)
    await world.until_status(observedNodes=2, healthyNodes=0)
    await world.set_label(inside, "role", "worker-of-old")
    assert await world.outcome(inside) == "Released"
    await world.until_clean(inside)
    await world.set_label(outside, "role", None)
    assert await world.outcome(outside) == "Released"
    await world.until_clean(outside)
    await world.until_status(phase="Enabled", observedNodes=0, healthyNodes=0, unhealthyNodes=None)

    # The node is selected again, still unhealthy: a new incident starts.
    await world.set_label(outside, "role", "worker")
    await world.until_requested(outside)
    assert world.requests.created(outside) == 2
