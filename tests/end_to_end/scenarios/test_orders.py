"""Orders of users: abort, resume, approve, remediate, skip, and annotations."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.remediation_order import REMEDIATE
from health.model.remediation_request import TEMPLATE_NAME
from kube.resource import EVENTS, NODES, Resource
from tests.support.cluster.command import Command
from tests.support.story.escalation import Escalation, timed_out
from tests.support.story.outcome import result_of
from tests.support.story.policies import NO_BACK_OFF, write_policy
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


async def test_step_waits_visibly_for_a_person_and_is_taken_once_it_is_approved(
    world: World, command: Command
) -> None:
    node, other = await world.add_nodes(2)
    await world.add_check(
        annotations={"paramedic.dev/require-approval": "true", "paramedic.dev/max-in-flight": "1"}
    )
    await world.fail(node)
    await _until_event(world, node, "ApprovalRequired")
    await world.until_phase(node, "Held")
    page = (await command("show", node)).out
    assert "(ApprovalRequired)" in page
    assert f"paramedic approve {node}" in page
    assert not world.requests.entries

    refused = await command("approve", node, "--step", "another")
    assert refused.code == 1
    assert "the step 'another' does not wait" in refused.err
    approved = await command("approve", node, "--reason", "INC-7")
    assert (approved.code, approved.err) == (0, "")
    assert "which is taken when it is admitted: INC-7" in approved.out
    await world.until_phase(node, "Remediating")
    assert len(world.requests.entries) == 1
    await world.fail(other)
    await _until_event(world, other, "ApprovalRequired")
    await world.until_phase(other, "Held")
    assert await _holds(command, other) == ["ApprovalRequired", "Limit"]
    assert (await command("approve", other)).code == 0
    assert await _holds(command, other) == ["Limit"]

    again = await command("reject", node)
    assert again.code == 1
    assert "no step waits for an approval" in again.err
    page = (await command("show", node)).out
    assert " by ada@" in page
    assert ": INC-7" in page
    await _until_event(world, node, "OrderReceived")
    await world.recover(node)
    assert await world.outcome(node) == "Remediated"


async def _holds(command: Command, node: str) -> list[str]:
    explained = await command("explain", node, "-o", "json")
    assert (explained.code, explained.err) == (0, "")
    return [hold["reason"] for hold in json.loads(explained.out)["checks"][0]["holds"]]


async def _until_event(world: World, node: str, reason: str) -> None:
    async def is_emitted() -> bool:
        events = await world.client.list(EVENTS, "default")
        found = [(one["involvedObject"]["name"], one["reason"]) for one in events]
        return (node, reason) in found

    await world.until(is_emitted, f"no Event {reason} of {node}")


async def has_event(world: World, node: str) -> bool:
    events = await world.client.list(EVENTS, "default")
    said = [one["message"] for one in events if one["involvedObject"]["name"] == node]
    return any("remediate by ada@" in message and "kubelet hangs" in message for message in said)


@pytest.fixture
async def _two_orders_by_force(world: World) -> AsyncIterator[None]:
    await write_policy(world.client, f"{NO_BACK_OFF}\nforcedOrders: true\nmaxOrdersInFlight: 2")
    yield
    await write_policy(world.client, NO_BACK_OFF)


@pytest.mark.usefixtures("_two_orders_by_force")
async def test_healthy_node_is_remediated_by_order_until_it_boots_and_the_threshold_counts_it(
    world: World, command: Command
) -> None:
    first, second, other = await world.add_nodes(3)
    await world.set_boot_id(first, "boot-1")
    await world.add_check(minHealthy=2)
    await world.until_status(observedNodes=3, healthyNodes=3)

    async def order(node: str, *options: str) -> tuple[int, str]:
        ran = await command("remediate", node, "--check", world.name, "--reason", "kubelet hangs", *options)
        return ran.code, ran.out + ran.err

    code, said = await order(first)
    assert code == 0, said
    assert f"{world.name}/{first}: its remediation is ordered until" in said
    assert said.endswith("; nothing holds it now\n")
    await world.until_requested(first)
    await world.until_status(observedNodes=3, healthyNodes=2)
    await world.until(lambda: has_event(world, first), "no Event on the node said who ordered")

    code, said = await order(first)
    assert (code, "an order stands until" in said) == (1, True)
    code, said = await order(second)
    words = "with it, 2 of 3 unhealthy, at most 1 allowed; --force passes the threshold"
    assert (code, words in said) == (1, True)
    await world.fail(other)
    await world.until_phase(other, "Held")
    code, said = await order(other)
    assert (code, "it is unhealthy already, and is remediated without an order" in said) == (1, True)
    code, said = await order(second, "--force", "--for", "30m")
    assert code == 0, said
    await world.until_requested(second)
    await world.until_phase(second, "Remediating")
    shown = await command("show", f"{world.name}/{second}")
    (line,) = [one for one in shown.out.splitlines() if one.startswith("Ordered ")]
    assert "by ada@" in line
    assert "with --force" in line

    assert (await world.state(first)).phase == "Remediating"
    await world.set_boot_id(first, "boot-2")
    assert await world.outcome(first) == "Remediated"
    result = await result_of(await world.workflow(first))
    assert result.ordered is not None
    assert result.ordered.reason == "kubelet hangs"
    assert not result.ordered.is_forced

    aborted = await command("abort", f"{world.name}/{second}", "--reason", "wrong node")
    assert aborted.code == 0
    await world.until_ended(second)
    await world.until_clean(first, second)
    for node in (first, second):
        metadata = (await world.client.get(NODES, node))["metadata"]
        assert REMEDIATE not in metadata.get("annotations", {})
    await world.until_requested(other)
    await world.recover(other)
    assert await world.outcome(other) == "Remediated"


@pytest.mark.rule("NHC 1.7/nhc-timed-out", "NHC 2.4/6/kept")
async def test_person_skips_a_step_by_the_command_once_and_the_last_step_not_at_all(
    world: World, command: Command
) -> None:
    """Each step has an hour, so no timeout passes during the test."""
    escalation = Escalation(world)
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second", each="1h")
    await world.fail(node)
    first = (await escalation.until_steps(node, "first"))["first"]
    await world.until_phase(node, "Remediating")

    skipped = await command(
        "skip", node, "--step", first["metadata"]["annotations"][TEMPLATE_NAME], "--reason", "it cannot boot"
    )
    assert (skipped.code, skipped.err) == (0, "")
    assert "and takes the next one when it is admitted: it cannot boot" in skipped.out
    requests = await escalation.until_steps(node, "first", "second")
    await escalation.until_timed_out(node, "first")
    assert not timed_out(requests["second"])
    await escalation.until_in_status(node, over=("first",), running=("second",))
    await world.until_phase(node, "Remediating")

    again = await command("skip", node, "--step", requests["first"]["metadata"]["annotations"][TEMPLATE_NAME])
    assert again.code == 1
    assert "does not run" in again.err
    last = await command("skip", node)
    assert last.code == 1
    assert "no step follows" in last.err
    assert escalation.taken(node) == ["first", "second"]

    page = await command("show", node)
    assert " by ada@" in page.out
    assert "it cannot boot" in page.out
    await _until_events(world, node)
    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)


async def _until_events(world: World, node: str) -> None:
    """Wait for the Event of the one order that the incident took; a refused update is no order."""
    received: list[str] = []

    async def is_emitted() -> bool:
        events = await world.client.list(EVENTS, "default")
        received[:] = [
            event["message"]
            for event in events
            if event["involvedObject"]["name"] == node and event["reason"] == "OrderReceived"
        ]
        return bool(received)

    await world.until(is_emitted, f"no Event of the order to {node}")
    (message,) = received
    assert message.startswith(f"NodeHealthCheck/{world.name}: skip ")
    assert message.endswith(": it cannot boot")
