"""Orders of users: abort while a create is in flight, resume, and annotations."""

import asyncio
from pathlib import Path

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.resource import NODES, Resource
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


async def test_hold_by_annotation_on_node_and_check_keeps_what_exists_and_ends_with_it(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await _annotate(world, NODES, node, hold="replacing its disk")
    await world.fail(node)
    await world.until_phase(node, "Held")
    assert "paramedic.dev/hold on it: replacing its disk" in (await world.state(node)).details

    await _annotate(world, NODE_HEALTH_CHECKS, world.name, hold="")
    await _annotate(world, NODES, node, hold=None)
    await _until_held(world, node, "paramedic.dev/hold on the check")
    assert world.requests.created(node) == 0
    await _annotate(world, NODE_HEALTH_CHECKS, world.name, hold=None)
    await world.until_requested(node)
    await world.recover(node)
    assert await world.outcome(node) == "Remediated"


async def test_question_is_answered_by_an_annotation_with_its_id(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await _annotate(world, NODE_HEALTH_CHECKS, world.name, **{"require-approval": "true"})
    await world.fail(node)
    await world.until_phase(node, "Held")
    await _annotate(world, NODES, node, approve="00000000")
    await _until_held(world, node, f"kubectl annotate --overwrite node {node} paramedic.dev/approve=")
    assert world.requests.created(node) == 0

    approval = (await world.state(node)).memory.approval
    assert approval is not None
    await _annotate(world, NODES, node, approve=f"{approval.id} INC-7")
    await world.until_requested(node)
    await world.recover(node)
    assert await world.outcome(node) == "Remediated"


async def _annotate(world: World, of: Resource, name: str, **orders: str | None) -> None:
    annotations = {f"paramedic.dev/{order}": value for order, value in orders.items()}
    await world.client.merge_patch(of, name, {"metadata": {"annotations": annotations}})


async def _until_held(world: World, node: str, words: str) -> None:
    await world.until_seen(node, lambda seen: seen.hold is not None and words in seen.hold.message)
