"""Each act reads the policy itself, whatever the detector has observed."""

from collections.abc import AsyncIterator

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.observation import HoldReason
from health.policy.policy import KEY, POLICY
from health.policy.policy_in_force import MISSING_POLICY, SHADOW
from kube.resource import CONFIG_MAPS
from kube.transport import Transport
from tests.activities.worker_activities import POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 43")]


@pytest.fixture
async def policy(world: World) -> AsyncIterator[None]:
    """A policy of the whole cluster, which is deleted after the test."""
    body = {"metadata": {"name": POLICY}, "data": {KEY: "shadow: true"}}
    await world.client.create(CONFIG_MAPS, body, POLICY_NAMESPACE)
    yield
    await world.client.delete(CONFIG_MAPS, POLICY, POLICY_NAMESPACE)


async def _assert_nothing_is_made(world: World, worker: WorkerActivities, why: str) -> None:
    result = await worker.act(world.order())

    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    assert result.hold.message.endswith(why)
    assert (await world.request(), await world.lease()) == (None, None)


@pytest.mark.parametrize(
    ("value", "why"), [("true", "is in shadow: nothing is written"), ("yes", "(found 'yes')")]
)
async def test_act_makes_nothing_where_the_check_is_in_shadow_or_cannot_be_told(
    world: World, worker: WorkerActivities, value: str, why: str
) -> None:
    patch = {"metadata": {"annotations": {SHADOW: value}}}
    await world.client.merge_patch(NODE_HEALTH_CHECKS, world.name, patch)

    await _assert_nothing_is_made(world, worker, why)


@pytest.mark.usefixtures("policy")
async def test_act_makes_nothing_where_the_policy_says_shadow(world: World, worker: WorkerActivities) -> None:
    await _assert_nothing_is_made(world, worker, "every check is in shadow: nothing is written")
    await world.client.merge_patch(CONFIG_MAPS, POLICY, {"data": {KEY: "shadow: perhaps"}}, POLICY_NAMESPACE)

    # The last valid policy, which the detector uses, admitted the act.
    assert (await worker.act(world.order())).request is not None


@pytest.mark.rule("rule 51")
async def test_act_makes_nothing_while_a_required_policy_is_missing_and_goes_on_when_it_is_back(
    world: World, worker_transport: Transport
) -> None:
    worker = WorkerActivities(worker_transport, requires_policy=True)

    async def assert_held() -> None:
        result = await worker.act(world.order())
        assert result.hold is not None
        assert (result.hold.reason, result.hold.message) == (MISSING_POLICY.reason, MISSING_POLICY.message)
        assert (await world.request(), await world.lease()) == (None, None)

    await assert_held()
    body = {"metadata": {"name": POLICY}, "data": {"another-key": "shadow: true"}}
    await world.client.create(CONFIG_MAPS, body, POLICY_NAMESPACE)
    try:
        await assert_held()
        restored = {"data": {"another-key": None, KEY: "{}"}}
        await world.client.merge_patch(CONFIG_MAPS, POLICY, restored, POLICY_NAMESPACE)
        assert (await worker.act(world.order())).request is not None
    finally:
        await world.client.delete(CONFIG_MAPS, POLICY, POLICY_NAMESPACE)
