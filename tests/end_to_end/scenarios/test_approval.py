"""`paramedic approve`: a check requires the approval of a person before its step."""

import json
import os

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from kube.resource import EVENTS
from tests.support.cluster.command import Command
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


@pytest.fixture
def command(temporal_server: TemporalServer, control_plane: ControlPlane, paramedic: Paramedic) -> Command:
    return Command(
        {
            "KUBECONFIG": str(control_plane.kubeconfig),
            "PARAMEDIC_CLUSTER": paramedic.cluster_name,
            **temporal_server.environment,
            "TEMPORAL_CONFIG_FILE": os.devnull,
        }
    )


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
