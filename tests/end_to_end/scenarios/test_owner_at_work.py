"""Nodes that others delete, disrupt or change are left alone until these are done; other nodes are not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kube.resource import NODES
from tests.end_to_end.holds import until_held
from tests.support.story.outcome import outcome_of
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

DURATION = timedelta(seconds=4)
CONFIG = "machineconfiguration.openshift.io"


async def annotate(world: World, node: str, **names: str) -> None:
    annotations = {f"{CONFIG}/{name}": value for name, value in names.items()}
    await world.client.merge_patch(NODES, node, {"metadata": {"annotations": annotations}})


async def set_taints(world: World, node: str, *keys: str) -> datetime:
    """Replace the taints of a node; returns the time after it, in whole seconds."""
    taints: list[dict[str, Any]] = [{"key": key, "effect": "NoSchedule"} for key in keys]
    await world.client.merge_patch(NODES, node, {"spec": {"taints": taints}})
    return datetime.now(UTC).replace(microsecond=0)


@pytest.mark.rule("rule 59", "NHC 2.1/10", "NHC 1.7/machineconfiguration")
async def test_nodes_are_left_alone_while_their_owners_work_on_them_and_hold_no_other_node(
    world: World,
) -> None:
    deleted, disrupted, changed, alone = await world.add_nodes(4)
    await world.add_check(duration=f"{DURATION.seconds}s", minHealthy=0)
    await world.client.merge_patch(NODES, deleted, {"metadata": {"finalizers": ["test/keeps"]}})
    await world.client.delete(NODES, deleted)
    await set_taints(world, disrupted, "karpenter.sh/disrupted")
    await annotate(world, changed, currentConfig="a", desiredConfig="b", state="Working")
    await world.fail(deleted, disrupted, changed, alone)

    await world.until_requested(alone)
    await until_held(world, deleted, "OwnerAtWork: the Node is being deleted, since", "left alone until")
    await until_held(world, disrupted, "OwnerAtWork: Karpenter disrupts the Node (taint")
    await until_held(world, changed, "OwnerAtWork: the machine config operator changes the configuration")
    await world.until_status(observedNodes=3, healthyNodes=0)
    await world.until_told("RemediationSkipped", "because of ongoing cluster upgrade")
    await world.until_told("RemediationSkipped", "because Karpenter disrupts the Node")
    assert [world.requests.created(node) for node in (deleted, disrupted, changed)] == [0, 0, 0]

    left = await set_taints(world, disrupted)
    await annotate(world, changed, state="Degraded")
    await world.until_requested(disrupted, changed)
    for node in (disrupted, changed):
        created = (await world.request(node))["metadata"]["creationTimestamp"]
        assert datetime.fromisoformat(created) >= left + DURATION

    workflow = await world.workflow(deleted)
    await world.client.merge_patch(NODES, deleted, {"metadata": {"finalizers": None}})
    assert await outcome_of(workflow) == "Gone"
    assert world.requests.created(deleted) == 0
