from datetime import UTC, datetime

import pytest

from health.model.node import CONFIRMED_HEALTHY
from health.model.references import RequestReference
from health.model.task_subject import OF_LEASE
from kube.resource import NODES
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import DEMO, FINALIZER, NAMESPACE, World
from workflows.contracts import CleanUpInput

pytestmark = pytest.mark.cluster


def order(world: World, *requests: RequestReference, is_confirmed: bool = False) -> CleanUpInput:
    return CleanUpInput(incident=world.incident, requests=requests, is_confirmed=is_confirmed)


async def annotations_of_the_node(world: World) -> dict[str, str]:
    node = await world.client.get(NODES, world.name)
    texts: dict[str, str] = node["metadata"].get("annotations") or {}
    return texts


@pytest.mark.rule("NHC 2.1/13", "NHC 2.5/release")
async def test_request_of_an_act_is_cleaned_up(world: World, worker: WorkerActivities) -> None:
    made = (await worker.act(world.order())).request
    assert made is not None
    result = await worker.clean_up(order(world, made.reference))
    assert result.remaining == ()
    assert await world.request() is None
    assert await world.lease() is None


async def test_clean_up_that_is_tried_again_is_harmless(world: World, worker: WorkerActivities) -> None:
    made = (await worker.act(world.order())).request
    assert made is not None
    for _ in range(2):
        assert (await worker.clean_up(order(world, made.reference))).remaining == ()


@pytest.mark.rule("NHC 2.8/deletion", "rule 2/preconditions")
async def test_request_that_another_client_created_again_is_left_alone(
    world: World, worker: WorkerActivities
) -> None:
    ours = await world.make_request()
    await world.remove_request(world.name)
    theirs = await world.make_request(of_another=True)
    assert (await worker.clean_up(order(world, ours))).remaining == ()
    found = await world.request()
    assert found is not None
    assert found["metadata"]["uid"] == theirs.uid
    assert "deletionTimestamp" not in found["metadata"]


@pytest.mark.rule("NHC 2.8/deletion")
async def test_request_that_the_check_owns_no_more_is_left_alone(
    world: World, worker: WorkerActivities
) -> None:
    theirs = await world.make_request(of_another=True)
    asked = order(world, theirs).model_copy(update={"doubtful": (theirs.uid,)})
    assert (await worker.clean_up(asked)).remaining == ()
    found = await world.request()
    assert found is not None
    assert "deletionTimestamp" not in found["metadata"]


@pytest.mark.rule("NHC 2.8/deletion")
async def test_request_of_ours_that_the_detector_does_not_see_is_deleted(
    world: World, worker: WorkerActivities
) -> None:
    ours = await world.make_request()
    asked = order(world, ours).model_copy(update={"doubtful": (ours.uid,)})
    assert (await worker.clean_up(asked)).remaining == ()
    assert await world.request() is None


@pytest.mark.rule("NHC 2.5/release", "NHC 2.7/finalizer")
async def test_request_with_a_finalizer_remains_and_keeps_the_lease(
    world: World, worker: WorkerActivities
) -> None:
    made = (await worker.act(world.order())).request
    assert made is not None
    await world.set_finalizer()
    for _ in range(2):
        assert (await worker.clean_up(order(world, made.reference))).remaining == (made.reference,)
        assert await world.lease() is not None
    found = await world.request()
    assert found is not None
    assert "deletionTimestamp" in found["metadata"]

    await world.remove_request(world.name)
    assert (await worker.clean_up(order(world, made.reference))).remaining == ()
    assert await world.lease() is None


async def test_one_finalizer_does_not_keep_the_other_requests(world: World, worker: WorkerActivities) -> None:
    hanging = await world.make_request(finalizers=(FINALIZER,))
    gone = hanging.model_copy(update={"name": f"{world.name}-gone", "uid": "gone"})
    assert (await worker.clean_up(order(world, hanging, gone))).remaining == (hanging,)


async def test_requests_whose_kind_or_group_is_gone_are_gone(world: World, worker: WorkerActivities) -> None:
    unknown = [
        RequestReference(
            api_version=api_version, kind="UnheardOf", namespace=NAMESPACE, name=world.name, uid=api_version
        )
        for api_version in (DEMO, "nowhere.example.com/v1")
    ]
    await world.make_lease(world.holder, datetime.now(UTC))
    assert (await worker.clean_up(order(world, *unknown))).remaining == ()
    assert await world.lease() is None


@pytest.mark.rule("NHC 1.7/manually-confirmed-healthy", "NHC 2.6/confirmed")
async def test_confirmation_that_the_node_is_healthy_goes_with_the_last_request(
    world: World, worker: WorkerActivities
) -> None:
    made = (await worker.act(world.order())).request
    assert made is not None
    await world.patch_node(annotations={CONFIRMED_HEALTHY: "yes", "kept": "yes"})
    await world.set_finalizer()
    await worker.clean_up(order(world, made.reference, is_confirmed=True))
    assert CONFIRMED_HEALTHY in await annotations_of_the_node(world)

    await world.remove_request(world.name)
    await worker.clean_up(order(world, made.reference, is_confirmed=True))
    assert await annotations_of_the_node(world) == {"kept": "yes"}
    assert await world.lease() is None


async def test_unseen_confirmation_is_left_for_the_next_look(world: World, worker: WorkerActivities) -> None:
    await world.patch_node(annotations={CONFIRMED_HEALTHY: ""})
    await worker.clean_up(order(world))
    assert CONFIRMED_HEALTHY in await annotations_of_the_node(world)


@pytest.mark.rule("rule 11/recreated")
async def test_confirmation_of_another_node_of_the_name_is_left_alone(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={CONFIRMED_HEALTHY: "yes"})
    target = world.incident.target.model_copy(update={"uid": "an-earlier-node"})
    incident = world.incident.model_copy(update={"target": target})
    await world.make_lease(world.holder, datetime.now(UTC))
    await worker.clean_up(CleanUpInput(incident=incident, requests=(), is_confirmed=True))
    assert await annotations_of_the_node(world) == {CONFIRMED_HEALTHY: "yes"}
    assert await world.lease() is None


async def test_confirmation_of_a_node_that_is_gone_stops_nothing(
    world: World, worker: WorkerActivities
) -> None:
    await world.make_lease(world.holder, datetime.now(UTC))
    await world.client.delete(NODES, world.name)
    await worker.clean_up(order(world, is_confirmed=True))
    assert await world.lease() is None


@pytest.mark.rule("NHC 2.5/release")
async def test_lease_alone_is_given_back(world: World, worker: WorkerActivities) -> None:
    await world.make_lease(world.holder, datetime.now(UTC))
    await worker.clean_up(order(world))
    assert await world.lease() is None


async def test_lease_of_another_is_left_alone(world: World, worker: WorkerActivities) -> None:
    await world.make_lease("somebody", datetime.now(UTC))
    await worker.clean_up(order(world))
    lease = await world.lease()
    assert lease is not None
    assert lease["holderIdentity"] == "somebody"


async def test_lease_that_is_not_released_is_answered(
    world: World, worker_in_the_dark: WorkerActivities
) -> None:
    result = await worker_in_the_dark.clean_up(order(world))
    (failure,) = result.failures
    assert (failure.subject, failure.what) == (OF_LEASE, f"release the Lease of {world.incident.target}")
    assert result.has_lease
