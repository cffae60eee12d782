"""A required policy is missing, deleted and restored while our processes run."""

import pytest

from health.policy.policy import KEY, POLICY
from kube.resource import CONFIG_MAPS, Object
from runtime.process_names import NAMESPACE
from tests.end_to_end.holds import until_held
from tests.support.story.policies import NO_BACK_OFF
from tests.support.story.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 51")]

BODY: Object = {"metadata": {"name": POLICY}, "data": {KEY: NO_BACK_OFF}}


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    return {"PARAMEDIC_MISSING_POLICY": "hold"}


@pytest.fixture(scope="module")
def policy() -> str:
    return ""


async def test_pruned_policy_holds_every_check_until_it_is_restored_and_nothing_is_restarted(
    world: World,
) -> None:
    first, second = await world.add_nodes(2)
    await world.add_check()
    await world.fail(first)
    await until_held(world, first, "PolicyUnknown", "is required and missing")

    await world.client.create(CONFIG_MAPS, BODY, NAMESPACE)
    await world.until_requested(first)
    await world.client.delete(CONFIG_MAPS, POLICY, NAMESPACE)
    await world.fail(second)
    await until_held(world, second, "PolicyUnknown", "is required and missing")
    await world.recover(first)  # cleaning up needs no policy
    await world.until_clean(first)
    assert world.requests.created(second) == 0

    await world.client.create(CONFIG_MAPS, BODY, NAMESPACE)
    await world.until_requested(second)
