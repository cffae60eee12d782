"""What changes while nobody looks: a failure, a recovery, a workflow that is gone. Each phase: restarts."""

import pytest

from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster


@pytest.mark.rule("NHC 2.7/restart", "rule 12")
async def test_a_failure_while_the_detector_is_down_is_remediated_when_it_is_back(
    world: World, paramedic: Paramedic
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.until_status(phase="Enabled", healthyNodes=1)
    await paramedic.detector.kill()

    await world.fail(node)
    await paramedic.detector.start_ready()

    await world.until_requested(node)


@pytest.mark.rule("NHC 2.7/restart")
async def test_a_recovery_while_everything_is_down_is_cleaned_up_when_it_is_back(
    world: World, paramedic: Paramedic
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_phase(node, "Remediating")
    await paramedic.detector.kill()
    await paramedic.worker.kill()

    await world.recover(node)
    await paramedic.start()

    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)


@pytest.mark.rule("NHC 2.4/4")
async def test_a_request_whose_workflow_was_lost_is_removed_when_its_node_is_healthy(
    world: World, paramedic: Paramedic
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_phase(node, "Remediating")
    await paramedic.detector.stop()
    await (await world.workflow(node)).terminate("by mistake")
    await world.recover(node)

    await paramedic.detector.start_ready()

    await world.until_clean(node)
    await world.until_ended(node)
    assert await world.outcome(node) == "Remediated"
