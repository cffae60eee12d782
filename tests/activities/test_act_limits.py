"""Each act compares the limits of its reserved slot with the limits of its check now."""

from collections.abc import AsyncIterator

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.admission import Admission
from health.model.observation import HoldReason
from health.policy.policy import KEY, POLICY
from kube.resource import CONFIG_MAPS
from tests.activities.evidence import evidence_asked
from tests.activities.worker_activities import POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import World
from workflows.contracts import ActInput

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 49", "rule 49/act")]

ONE, TWO, NONE = "limits: {maxInFlight: 1}", "limits: {maxInFlight: 2}", "backOffLimit: 0s"
OF_POLICY, OF_CHECK = Admission(policy_limits="maxInFlight=1"), Admission(check_limits="maxInFlight=1")


async def set_policy(world: World, text: str) -> None:
    await world.client.merge_patch(CONFIG_MAPS, POLICY, {"data": {KEY: text}}, POLICY_NAMESPACE)


async def annotate(world: World, value: str | None) -> None:
    patch = {"metadata": {"annotations": {"paramedic.dev/max-in-flight": value}}}
    await world.client.merge_patch(NODE_HEALTH_CHECKS, world.name, patch)


@pytest.fixture
async def policy(world: World) -> AsyncIterator[None]:
    """A policy of the whole cluster, which is deleted after the test."""
    body = {"metadata": {"name": POLICY}, "data": {KEY: ONE}}
    await world.client.create(CONFIG_MAPS, body, POLICY_NAMESPACE)
    yield
    await world.client.delete(CONFIG_MAPS, POLICY, POLICY_NAMESPACE)


async def assert_nothing_is_made(world: World, worker: WorkerActivities, act: ActInput, why: str) -> None:
    result = await worker.act(act)
    assert result.hold is not None
    assert result.hold.reason is HoldReason.NOT_TRUE
    assert result.hold.message.endswith(why)
    assert (await world.request(), await world.lease()) == (None, None)


@pytest.mark.usefixtures("policy")
async def test_act_refuses_a_step_without_a_slot_where_the_policy_limits_and_takes_one_with_it(
    world: World, worker: WorkerActivities
) -> None:
    why = "are maxInFlight=1 by the policy, and a slot was reserved under no limit"
    await assert_nothing_is_made(world, worker, world.order(), why)
    assert (await worker.act(world.order(admission=OF_POLICY))).request is not None


@pytest.mark.usefixtures("policy")
async def test_act_refuses_a_slot_that_was_reserved_before_the_policy_was_edited(
    world: World, worker: WorkerActivities
) -> None:
    await set_policy(world, TWO)
    why = "are maxInFlight=2 by the policy, and a slot was reserved under maxInFlight=1 by the policy"
    await assert_nothing_is_made(world, worker, world.order(admission=OF_POLICY), why)
    await set_policy(world, NONE)
    why = "are no limit, and a slot was reserved under maxInFlight=1 by the policy"
    await assert_nothing_is_made(world, worker, world.order(admission=OF_POLICY), why)


@pytest.mark.usefixtures("policy")
async def test_act_goes_by_the_limits_of_the_detector_where_the_policy_cannot_be_taken(
    world: World, worker: WorkerActivities
) -> None:
    await set_policy(world, "limits: {maxInFlight: many}")
    await annotate(world, "1")
    why = "by the check, and a slot was reserved under maxInFlight=1 by the policy"
    await assert_nothing_is_made(world, worker, world.order(admission=OF_POLICY), why)
    await annotate(world, None)
    assert (await worker.act(world.order(admission=OF_POLICY))).request is not None


async def test_act_refuses_a_step_without_a_slot_where_annotations_of_the_check_limit(
    world: World, worker: WorkerActivities
) -> None:
    await annotate(world, "1")
    why = "are maxInFlight=1 by the check, and a slot was reserved under no limit"
    await assert_nothing_is_made(world, worker, world.order(), why)
    assert (await worker.act(world.order(admission=OF_CHECK))).request is not None


async def test_evidence_is_not_saved_before_a_step_without_a_slot_but_in_shadow(
    world: World, worker: WorkerActivities
) -> None:
    await annotate(world, "1")
    refused = await worker.save_evidence(evidence_asked(world.order()))
    assert refused.hold is not None
    assert refused.hold.reason is HoldReason.NOT_TRUE
    for changes in ({"admission": OF_CHECK}, {"is_shadow": True}):
        saved = await worker.save_evidence(evidence_asked(world.order(), **changes))
        assert saved.record is not None
        assert saved.record.is_saved
