"""`paramedic skip`: a person ends a step of an escalation long before its timeout."""

import os

import pytest

from devcluster.temporal import TemporalServer
from health.model.remediation_request import TEMPLATE_NAME
from kube.resource import EVENTS
from tests.support.cluster.command import Command
from tests.support.story.escalation import Escalation, timed_out
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


@pytest.fixture
def command(temporal_server: TemporalServer) -> Command:
    return Command(
        {
            **temporal_server.environment,
            "TEMPORAL_CONFIG_FILE": os.devnull,
        }
    )


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
