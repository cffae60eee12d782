"""A monitor that says "ok" after each boot: the node recovers after each step, and fails again."""

import pytest

from health.model.incident_result import repeated
from kube.resource import EVENTS, Object
from tests.support.story.escalation import Escalation
from tests.support.story.world import REQUESTS, World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 64")]


async def test_failure_that_comes_back_after_each_step_takes_the_next_one_until_none_is_left(
    world: World,
) -> None:
    escalation = Escalation(world)
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second", annotations={"paramedic.dev/relapse": "30m"})
    for step in ("first", "second"):
        await world.fail(node)
        await escalation.until_steps(node, step)
        await world.recover(node)
        assert await world.outcome(node) == "Remediated"
        await world.until_clean(node)

    await world.fail(node)
    await world.until_phase(node, "Exhausted")
    await escalation.until_told_once(node)
    assert escalation.taken(node) == ["first", "second"]
    await world.recover(node)
    await world.until_ended(node)


async def test_node_that_registers_anew_while_its_request_hangs_goes_on_with_the_next_step(
    world: World,
) -> None:
    """The remediator deletes the node, and a finalizer keeps its request: the incident stays open."""
    escalation = Escalation(world)
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second", "third", annotations={"paramedic.dev/relapse": "30m"})
    await world.fail(node)
    await escalation.until_steps(node, "first")
    request = (await escalation.request(node, "first"))["metadata"]["name"]
    kept: Object = {"metadata": {"finalizers": ["example.com/keep"]}}
    await world.client.merge_patch(REQUESTS, request, kept, "default")
    await world.delete_node(node)
    await world.recreate_node(node, ready="Unknown")
    await world.until_phase(node, "Held")
    assert "took " in ((await world.state(node)).memory.relapse or "")
    kept["metadata"]["finalizers"] = None
    await world.client.merge_patch(REQUESTS, request, kept, "default")
    await escalation.until_steps(node, "second")

    incident = await world.workflow(node)
    await world.delete_node(node)
    await world.recreate_node(node, ready="True")
    await incident.result()
    await world.until_clean(node)
    await world.fail(node)
    await escalation.until_steps(node, "third")
    assert escalation.taken(node) == ["first", "second", "third"]
    await world.recover(node)
    await world.until_clean(node)


async def test_without_a_relapse_an_event_says_once_that_the_first_step_is_taken_again_and_again(
    world: World,
) -> None:
    escalation = Escalation(world)
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second")
    for _ in range(4):
        await world.fail(node)
        await escalation.until_steps(node, "first")
        await world.recover(node)
        await world.until_ended(node)
        await world.until_clean(node)
    assert escalation.taken(node) == ["first"] * 4
    reasons = [
        (event["type"], event["message"])
        for event in await world.client.list(EVENTS, "default")
        if (event["reason"], event["involvedObject"]["name"]) == ("StepRepeated", node)
    ]
    assert reasons == [("Warning", f"NodeHealthCheck/{world.name}: {repeated(3, 1)}")]
