"""Orders of people: abort, cancel and resume, also while a create is in flight."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle

from tests.end_to_end.slow_create import slow_create
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

Order = Callable[[WorkflowHandle[Any, Any]], Awaitable[Any]]


async def _abort(workflow: WorkflowHandle[Any, Any]) -> None:
    await workflow.execute_update("abort")


async def _abort_by_signal(workflow: WorkflowHandle[Any, Any]) -> None:
    await workflow.signal("abort", {"reason": "maintenance"})


async def _cancel(workflow: WorkflowHandle[Any, Any]) -> None:
    await workflow.cancel()


ORDERS = [
    pytest.param(_abort, id="abort"),
    pytest.param(_abort_by_signal, id="abort by signal"),
    pytest.param(_cancel, id="cancel"),
]


@pytest.mark.rule("rule 40")
@pytest.mark.parametrize("order", ORDERS)
async def test_an_order_to_stop_while_a_create_is_in_flight_leaves_nothing(
    world: World, tmp_path: Path, order: Order
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    async with slow_create(world.client, node, tmp_path) as create:
        await world.fail(node)
        await create.until_in_flight()
        # An update is answered when the act is over, a signal and a cancel at once.
        ordered = asyncio.ensure_future(order(await world.workflow(node)))
        create.let_go()
        await ordered

        await world.until_phase(node, "LeftAlone")
        await world.until_clean(node)
        assert world.requests.created(node) == 1

    await world.recover(node)
    assert await world.outcome(node) == "Recovered"
    assert world.requests.existing(node) == 0


@pytest.mark.rule("rule 40")
async def test_a_node_that_was_left_alone_is_taken_care_of_again_after_resume(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_requested(node)
    workflow = await world.workflow(node)

    await workflow.execute_update("abort", {"reason": "we look at it ourselves"})
    await world.until_phase(node, "LeftAlone")
    await world.until_clean(node)
    assert "we look at it ourselves" in (await world.state(node)).details
    await workflow.execute_update("resume")

    await world.until_requested(node)
    assert world.requests.created(node) == 2
