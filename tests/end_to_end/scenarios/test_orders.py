"""Orders of users: abort while a create is in flight, and resume."""

import asyncio
from pathlib import Path

import pytest

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
