"""A recovery that must be proven, and a monitor that says "ok" after each boot."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.incident_result import repeated
from health.model.remediation_request import BOOT_ID
from kube.resource import EVENTS, Object
from tests.support.story.escalation import Escalation, timed_out
from tests.support.story.world import REQUESTS, World

SECONDS = 3


@pytest.mark.cluster
async def test_node_that_comes_back_without_a_boot_gets_the_next_step_and_keeps_its_requests_until_it_booted(
    world: World,
) -> None:
    escalation = Escalation(world)
    (node,) = await world.add_nodes(1)
    await world.set_boot_id(node, "boot-1")
    await escalation.add("first", "second", annotations={"paramedic.dev/proven-recovery": f"{SECONDS}s"})
    await world.fail(node)
    requests = await escalation.until_steps(node, "first")
    assert requests["first"]["metadata"]["annotations"][BOOT_ID] == "boot-1"

    await world.recover(node)
    await world.until_seen(node, lambda seen: seen.state == "Healthy")
    await world.until_phase(node, "Remediating")
    assert "but its boot ID boot-1 is the same as before the step" in (await world.state(node)).details
    await _until_status_is_that_of_the_reference(world)

    await escalation.report(node, "first", "False")
    requests = await escalation.until_steps(node, "first", "second")
    assert timed_out(requests["first"])
    assert not timed_out(requests["second"])

    booted = datetime.now(UTC)
    await world.set_boot_id(node, "boot-2")
    await world.until_phase(node, "HealthyDelay")
    assert "healthy with a new boot ID since" in (await world.state(node)).details
    assert await world.outcome(node) == "Remediated"
    assert datetime.now(UTC) >= booted + timedelta(seconds=SECONDS)
    await world.until_clean(node)
    await world.until_status(phase="Enabled", healthyNodes=1, unhealthyNodes=None)
    assert escalation.taken(node) == ["first", "second"]


async def _until_status_is_that_of_the_reference(world: World) -> None:
    """Wait for a status entry with the request, without an unhealthy condition or a healthyDelay."""

    async def is_so() -> bool:
        entries = (await world.status()).get("unhealthyNodes", [])
        return [set(entry) for entry in entries] == [{"name", "remediations", "conditionsHealthyTimestamp"}]

    await world.until(is_so, "the status never said that the node is healthy, and has its request")
    await world.until_status(phase="Remediating", observedNodes=1, healthyNodes=0)


@pytest.mark.rule("rule 64")
@pytest.mark.cluster
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


@pytest.mark.rule("rule 64")
@pytest.mark.cluster
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


@pytest.mark.rule("rule 64")
@pytest.mark.cluster
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
