"""An act does nothing if its facts changed after the admission."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.observation import HoldReason
from health.model.references import TargetReference
from kube.resource import NODES
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import SINCE, World

pytestmark = pytest.mark.cluster

Change = Callable[[World], Awaitable[None]]


async def node_is_deleted(world: World) -> None:
    await world.client.delete(NODES, world.name)


async def node_is_another(world: World) -> None:
    await world.client.delete(NODES, world.name)
    await world.make_node()


async def node_recovers(world: World) -> None:
    await world.set_condition("True")


async def node_fails_anew(world: World) -> None:
    await world.set_condition("False", SINCE + timedelta(seconds=1))


async def node_is_excluded(world: World) -> None:
    await world.patch_node(labels={"remediation.medik8s.io/exclude-from-remediation": "true"})


async def node_leaves_the_check(world: World) -> None:
    await world.patch_node(labels={world.label: None})


async def check_is_edited(world: World) -> None:
    await world.patch_check(minHealthy="51%")


async def check_is_paused(world: World) -> None:
    await world.patch_check(pauseRequests=["maintenance"])


async def check_is_deleted(world: World) -> None:
    await world.client.delete(NODE_HEALTH_CHECKS, world.name)


CHANGES = [
    pytest.param(node_is_deleted, "is gone", id="node-deleted"),
    pytest.param(node_is_another, "another uid", id="node-recreated"),
    pytest.param(node_recovers, "no longer true", id="recovered"),
    pytest.param(node_fails_anew, "no longer true", id="failed-anew"),
    pytest.param(node_is_excluded, "excluded", id="excluded"),
    pytest.param(node_leaves_the_check, "no longer selects", id="left"),
    pytest.param(check_is_edited, "was edited", id="edited"),
    pytest.param(check_is_deleted, "is gone", id="check-deleted"),
]


@pytest.mark.rule("rule 2", "rule 41")
@pytest.mark.parametrize(("change", "words"), CHANGES)
async def test_nothing_is_made_when_something_changed_since_the_admission(
    world: World, worker: WorkerActivities, change: Change, words: str
) -> None:
    await change(world)
    result = await worker.act(world.order())
    assert result.request is None
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    assert words in result.hold.message
    assert result.hold.ask_again_seconds == 2
    assert await world.request() is None
    assert await world.lease() is None


@pytest.mark.rule("NHC 2.1/11", "rule 2")
async def test_check_that_is_paused_at_the_judged_generation_makes_nothing(
    world: World, worker: WorkerActivities
) -> None:
    await check_is_paused(world)
    result = await worker.act(world.order(generation=2))
    assert result.hold is not None
    assert "maintenance" in result.hold.message
    assert await world.request() is None


@pytest.mark.rule("rule 41")
async def test_heartbeat_is_no_change(world: World, worker: WorkerActivities) -> None:
    await world.set_condition("False")
    assert (await worker.act(world.order())).request is not None


@pytest.mark.rule("rule 11/recreated", "rule 41")
async def test_name_alone_is_not_the_node(world: World, worker: WorkerActivities) -> None:
    target = TargetReference(kind="Node", name=world.name, uid="another")
    incident = world.incident.model_copy(update={"target": target})
    result = await worker.act(world.order(incident=incident))
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
