"""Several templates, tried in order while a node stays unhealthy."""

import pytest

from tests.support.story.escalation import Escalation, timed_out
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


@pytest.fixture
def escalation(world: World) -> Escalation:
    return Escalation(world)


@pytest.mark.rule(
    "rule 18",
    "NHC 1.7/nhc-timed-out",
    "NHC 2.4/2",
    "NHC 2.4/3/name",
    "NHC 2.4/6/failed",
    "NHC 2.4/6/kept",
    "NHC 2.4/2/none left",
    "NHC 1.5/NoTemplateLeft",
)
async def test_steps_that_fail_are_followed_in_their_order_until_none_is_left(
    world: World, escalation: Escalation
) -> None:
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second", "third")
    await world.fail(node)

    await escalation.until_steps(node, "first")
    await escalation.report(node, "first", "False")
    await escalation.until_steps(node, "first", "second")
    await escalation.report(node, "second", "False")
    requests = await escalation.until_steps(node, "first", "second", "third")
    assert escalation.taken(node) == ["first", "second", "third"]
    assert all(timed_out(requests[step]) for step in ("first", "second"))
    assert not timed_out(requests["third"])
    names = {request["metadata"]["name"] for request in requests.values()}
    assert len(names) == 3
    assert all(name.startswith(f"{node}-") for name in names)

    await escalation.until_in_status(node, over=("first", "second"), running=("third",))
    await world.until_status(phase="Remediating", observedNodes=1, healthyNodes=0)
    await escalation.report(node, "third", "False")
    await world.until_phase(node, "Exhausted")
    await escalation.until_timed_out(node, "third")
    await escalation.until_in_status(node, over=("first", "second", "third"))
    await escalation.until_told_once(node)
    assert escalation.taken(node) == ["first", "second", "third"]

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    await world.until_status(phase="Enabled", healthyNodes=1, unhealthyNodes=None)
