"""`paramedic remediate`: a person has a node remediated that looks healthy to its check."""

import os
from collections.abc import AsyncIterator

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from health.model.remediation_order import REMEDIATE
from kube.resource import EVENTS, NODES
from tests.support.cluster.command import Command
from tests.support.story.outcome import result_of
from tests.support.story.paramedic import Paramedic
from tests.support.story.policies import NO_BACK_OFF, write_policy
from tests.support.story.world import World

pytestmark = pytest.mark.cluster


@pytest.fixture
def command(temporal_server: TemporalServer, control_plane: ControlPlane, paramedic: Paramedic) -> Command:
    return Command(
        {
            **temporal_server.environment,
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "KUBECONFIG": str(control_plane.kubeconfig),
            "PARAMEDIC_CLUSTER": paramedic.cluster_name,
            "USER": "alice",
        }
    )


async def has_event(world: World, node: str) -> bool:
    events = await world.client.list(EVENTS, "default")
    said = [one["message"] for one in events if one["involvedObject"]["name"] == node]
    return any("remediate by alice@" in message and "kubelet hangs" in message for message in said)


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
    assert "by alice@" in line
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
