"""Orders of users: abort while a create is in flight, resume, and orders by annotation."""

import asyncio
from pathlib import Path

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.resource import EVENTS, NODES, Resource
from tests.support.story.slow_create import slow_create
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


@pytest.mark.rule("rule 40")
async def test_abort_while_a_create_is_in_flight_leaves_nothing_until_a_person_resumes(
    world: World, tmp_path: Path
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    async with slow_create(world.client, node, tmp_path) as create:
        await world.fail(node)
        await create.until_in_flight()
        workflow = await world.workflow(node)
        # The update is answered after the act has ended.
        ordered = asyncio.ensure_future(
            workflow.execute_update("abort", {"reason": "we look at it ourselves"})
        )
        create.let_go()
        await ordered
        await world.until_phase(node, "LeftAlone")
        await world.until_clean(node)
        assert world.requests.created(node) == 1

    assert "we look at it ourselves" in (await world.state(node)).details
    await workflow.execute_update("resume")
    await world.until_requested(node)
    assert world.requests.created(node) == 2
    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)


async def test_orders_by_annotation_on_node_and_check_are_taken_once_answered_and_removed(
    world: World,
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check(duration="1h")
    await _annotate(world, NODES, node, hold="too early")
    assert "has no open incident" in await _answer(world, NODES, node, "hold", "OrderRefused")
    await world.fail(node)
    await world.until(lambda: world.has_incident(node), f"{node} has no incident")
    await _annotate(world, NODES, node, hold='{"reason": "replacing its disk", "for_seconds": 3600}')
    answer = await _answer(world, NODES, node, "hold", "OrderTaken")
    assert "keeps what exists: replacing its disk; until 20" in answer
    await world.until_phase(node, "Held")
    (record,) = (await world.state(node)).memory.standing
    assert record.identity == f"kubectl annotation on Node/{node} (manager end-to-end-test)"

    await _annotate(world, NODE_HEALTH_CHECKS, world.name, resume="")
    resumed = await _answer(world, NODE_HEALTH_CHECKS, world.name, "resume", "OrderTaken")
    assert f"{node} again; ended the hold by {record.identity}: replacing its disk (of 2" in resumed
    assert not (await world.state(node)).memory.standing
    await world.recover(node)
    assert await world.outcome(node) == "Recovered"


async def _annotate(world: World, of: Resource, name: str, **orders: str) -> None:
    annotations = {f"paramedic.dev/{order}": value for order, value in orders.items()}
    await world.client.merge_patch(of, name, {"metadata": {"annotations": annotations}})


async def _answer(world: World, of: Resource, name: str, order: str, reason: str) -> str:
    """The message of the Event that answers the order, after the annotation was removed."""

    async def is_removed() -> bool:
        found = await world.client.get(of, name)
        return f"paramedic.dev/{order}" not in found["metadata"].get("annotations", {})

    await world.until(is_removed, f"{order} stays on {name}")
    events = await world.client.list(EVENTS, "default")
    messages = [
        event["message"]
        for event in events
        if event["involvedObject"]["name"] == name
        and event["reason"] == reason
        and event["message"].startswith(f"paramedic.dev/{order}: ")
    ]
    (message,) = messages
    return str(message)
