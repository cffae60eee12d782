"""Steps that are over because their time is, and what can be done when no step is left."""

from datetime import UTC, datetime, timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError

from tests.end_to_end.escalation import Escalation, created, timed_out
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

MINUTE = timedelta(minutes=1)
"""The shortest timeout that the schema takes."""


@pytest.fixture
def escalation(world: World) -> Escalation:
    """The steps of the world."""
    return Escalation(world)


@pytest.mark.timeout(240)
@pytest.mark.rule(
    "rule 40/exhausted",
    "rule 10/edit",
    "NHC 2.4/6/timeout",
    "NHC 2.4/6/succeeded",
    "NHC 2.4/2/none left",
    "NHC 2.7/Succeeded",
    "NHC 1.5/NoTemplateLeft",
    "rule 15",
)
async def test_steps_time_out_and_an_exhausted_escalation_waits_for_resume(
    world: World, escalation: Escalation
) -> None:
    world.patience += MINUTE
    nodes = await world.add_named_nodes("silent", "in-vain", "last-silent", "last-in-vain")
    await escalation.add("first", "second")
    await world.fail(*nodes.values())
    await world.until_requested(*nodes.values())
    # Counted from the creation of each request, whatever its timeout was then.
    await world.edit_check(escalatingRemediations=escalation.steps("first", "second", each="1m"))
    await escalation.report(nodes["in-vain"], "first", "True")
    for node in (nodes["last-silent"], nodes["last-in-vain"]):
        await escalation.report(node, "first", "False")
        await escalation.until_steps(node, "first", "second")
    await escalation.report(nodes["last-in-vain"], "second", "True")
    assert [escalation.taken(nodes[name]) for name in ("silent", "in-vain")] == [["first"]] * 2

    for node in (nodes["silent"], nodes["in-vain"]):
        requests = await escalation.until_steps(node, "first", "second")
        assert created(requests["second"]) - created(requests["first"]) >= MINUTE
        assert bool(timed_out(requests["first"])) is (node == nodes["silent"])
        await escalation.until_in_status(node, over=("first",), running=("second",))
    world.patience -= MINUTE
    for node in (nodes["last-silent"], nodes["last-in-vain"]):
        await world.until_phase(node, "Exhausted")
        requests = await escalation.requests(node)
        assert datetime.now(UTC) - created(requests["second"]) >= MINUTE
        assert bool(timed_out(requests["second"])) is (node == nodes["last-silent"])
        await escalation.until_in_status(node, over=("first", "second"))
        await escalation.until_told_once(node)

    await _resume_from_the_first(world, escalation, nodes["last-silent"])
    await _resume_from_the_second(world, escalation, nodes["last-in-vain"])
    await world.recover(*nodes.values())
    for node in nodes.values():
        assert await world.outcome(node) == "Remediated"
    await world.until_clean(*nodes.values())


async def _resume_from_the_first(world: World, escalation: Escalation, node: str) -> None:
    before = await escalation.requests(node)
    await (await world.workflow(node)).execute_update("resume")
    after = await escalation.until_steps(node, "first")
    assert after["first"]["metadata"]["uid"] != before["first"]["metadata"]["uid"]
    await escalation.until_in_status(node, running=("first",))
    await escalation.report(node, "first", "False")
    await escalation.until_steps(node, "first", "second")


async def _resume_from_the_second(world: World, escalation: Escalation, node: str) -> None:
    workflow = await world.workflow(node)
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await workflow.execute_update("resume", {"step": "third"})
    names = [world.template(step)["name"] for step in ("first", "second")]
    sentence = f"step: no step uses the template 'third'; the templates are {', '.join(names)}"
    assert str(refused.value.cause).endswith(sentence)
    await world.until_phase(node, "Exhausted")
    await workflow.execute_update("resume", {"step": names[1]})
    await escalation.until_steps(node, "second")
    assert escalation.taken(node) == ["first", "second", "second"]
    await escalation.report(node, "second", "False")
    await world.until_phase(node, "Exhausted")
