"""Changes while our processes are down: a failure, a recovery, a deleted workflow. Every phase: restarts/."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from temporalio.client import WorkflowExecutionStatus

from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


@pytest.mark.rule("NHC 2.7/restart", "rule 12", "NHC 2.4/4")
async def test_changes_while_everything_is_down_take_effect_after_the_restart(
    world: World, paramedic: Paramedic
) -> None:
    """One node fails, one recovers; two workflows are deleted: of a recovering node and of another one."""
    names = ("fails", "recovers", "lost", "lost-and-well")
    fails, recovers, lost, lost_and_well = (await world.add_named_nodes(*names)).values()
    began = (recovers, lost, lost_and_well)
    await world.add_check()
    await world.fail(*began)
    await world.until_requested(*began)
    for node in began:
        await world.until_phase(node, "Remediating")
    await asyncio.gather(paramedic.detector.kill(), paramedic.worker.kill())

    await world.fail(fails)
    for node in (lost, lost_and_well):
        await (await world.workflow(node)).terminate("by mistake")
    await world.recover(recovers, lost_and_well)
    await paramedic.start()

    await world.until_requested(fails)
    assert await world.outcome(recovers) == "Remediated"
    await world.until_clean(recovers, lost_and_well)
    await world.until_ended(lost_and_well)
    assert await world.outcome(lost_and_well) == "Remediated"
    await world.until(_runs(world, lost), f"nobody took {lost} up again")
    await world.until_phase(lost, "Remediating")
    await world.recover(fails, lost)
    assert [await world.outcome(node) for node in (fails, lost)] == ["Remediated"] * 2
    await world.until_clean(*world.nodes)
    assert [world.requests.created(node) for node in world.nodes] == [1, 1, 1, 1]


def _runs(world: World, node: str) -> Callable[[], Awaitable[bool]]:
    async def runs() -> bool:
        described = await (await world.workflow(node)).describe()
        return described.status is WorkflowExecutionStatus.RUNNING

    return runs
