"""An act reads `paramedic.dev/hold` from the live target and check, with the rights of the worker."""

from datetime import UTC, datetime, timedelta

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.annotations import HOLD
from health.model.observation import HoldReason
from health.policy.policy import KEY, POLICY
from kube.resource import CONFIG_MAPS, Object
from tests.activities.worker_activities import POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 2")]


async def test_node_with_the_annotation_gets_no_request_and_gets_it_after_the_removal(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={HOLD: "replacing its disk"})
    held = (await worker.act(world.order())).hold
    assert held is not None
    assert held.reason is HoldReason.HOLD_ANNOTATION
    assert held.message == f"the annotation {HOLD} on it: replacing its disk"
    assert (await world.request(), await world.lease()) == (None, None)

    await world.patch_node(annotations={HOLD: None})
    assert (await worker.act(world.order())).request is not None


async def test_check_with_the_annotation_gets_no_request(world: World, worker: WorkerActivities) -> None:
    await world.client.merge_patch(NODE_HEALTH_CHECKS, world.name, {"metadata": {"annotations": {HOLD: ""}}})
    held = (await worker.act(world.order())).hold
    assert held is not None
    assert held.message == f"the annotation {HOLD} on the check"
    assert await world.request() is None


async def test_hold_that_is_over_holds_nothing(world: World, worker: WorkerActivities) -> None:
    over = datetime.now(UTC) - timedelta(minutes=1)
    await world.patch_node(annotations={HOLD: f'{{"until": "{over.isoformat()}"}}'})
    assert (await worker.act(world.order())).request is not None


async def test_policy_that_refuses_orders_by_annotation_ends_the_hold(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={HOLD: ""})
    body: Object = {"metadata": {"name": POLICY}, "data": {KEY: "ordersByAnnotation: false"}}
    await world.client.create(CONFIG_MAPS, body, POLICY_NAMESPACE)
    try:
        assert (await worker.act(world.order())).request is not None
    finally:
        await world.client.delete(CONFIG_MAPS, POLICY, POLICY_NAMESPACE)
