"""A request with the node's name exists already."""

import pytest

from health.model.observation import HoldReason
from health.model.remediation_request import TARGET_UID
from kube.transport import Transport
from tests.activities.overtaken import NameFreed
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import FINALIZER, NAMESPACE, REQUESTS, World

pytestmark = pytest.mark.cluster


@pytest.mark.rule("NHC 2.4/4/foreign", "rule 13")
async def test_request_of_another_owner_is_left_to_it(world: World, worker: WorkerActivities) -> None:
    await world.make_request(of_another=True)
    await _is_held(world, worker, HoldReason.TAKEN_BY_REQUEST)
    assert await world.request() is not None
    assert await world.lease() is None


@pytest.mark.rule("rule 11/recreated")
async def test_request_for_an_earlier_node_of_the_name_is_waited_for(
    world: World, worker: WorkerActivities
) -> None:
    await world.make_request(annotations={TARGET_UID: "an-earlier-node"})
    await _is_held(world, worker, HoldReason.EARLIER_REQUEST)


@pytest.mark.rule("NHC 2.7/finalizer")
async def test_request_that_hangs_on_a_finalizer_is_waited_for(
    world: World, worker: WorkerActivities
) -> None:
    await world.make_request(finalizers=(FINALIZER,), annotations={TARGET_UID: world.node_uid})
    await world.client.delete(REQUESTS, world.name, NAMESPACE)
    await _is_held(world, worker, HoldReason.EARLIER_REQUEST)
    assert await world.lease() is not None, "its remediator may still be at work"
    await world.remove_request(world.name)
    assert (await worker.act(world.order())).request is not None


@pytest.mark.rule("NHC 2.7/finalizer")
async def test_request_that_is_deleted_during_the_look_does_not_delay_the_act(
    world: World, worker_transport: Transport
) -> None:
    await world.make_request(finalizers=(FINALIZER,), annotations={TARGET_UID: world.node_uid})
    await world.client.delete(REQUESTS, world.name, NAMESPACE)
    client = NameFreed(worker_transport, REQUESTS, lambda: world.remove_request(world.name))
    assert (await WorkerActivities(worker_transport, client=client).act(world.order())).request is not None


async def _is_held(world: World, worker: WorkerActivities, reason: HoldReason) -> None:
    result = await worker.act(world.order())
    assert result.request is None
    assert result.hold is not None
    assert result.hold.reason is reason
