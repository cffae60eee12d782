"""A request is gone only if the API server knows no object with its uid in any version."""

from collections.abc import AsyncIterator

import pytest

from activities.requests import LiveRequests
from devcluster.control_plane import ControlPlane
from health.model.references import RequestReference
from kube.connection import ClusterConnection
from kube.errors import Conflict, Forbidden, Invalid
from kube.resource import Object
from kube.transport import Transport
from tests.activities.two_versions import TwoVersions, installed
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import World
from workflows.contracts import CleanUpInput

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 3")]


@pytest.fixture
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield connected


@pytest.fixture
async def kind(transport: Transport) -> AsyncIterator[TwoVersions]:
    async with installed(transport) as kind:
        yield kind


@pytest.fixture
def live(transport: Transport) -> LiveRequests:
    return LiveRequests(ClusterConnection.over(transport))


def version(found: Object) -> str:
    return str(found["metadata"]["resourceVersion"])


async def seen(live: LiveRequests, reference: RequestReference) -> bool:
    """Read the request, after an update of the discovery cache."""
    return await live.find(reference) is not None


async def test_request_is_found_until_it_is_deleted(live: LiveRequests, kind: TwoVersions) -> None:
    request = await kind.make_request()
    assert await seen(live, request)
    await kind.delete(request)
    assert not await seen(live, request)


async def test_another_of_its_name_is_not_the_one_that_is_meant(
    live: LiveRequests, kind: TwoVersions
) -> None:
    ours = await kind.make_request()
    await kind.delete(ours)
    await kind.make_request()
    assert await live.find(ours) is None
    (theirs,) = await kind.requests()
    with pytest.raises(Invalid):
        await live.annotate(ours, {"a": "b"}, version(theirs))
    with pytest.raises(Conflict):
        await live.delete(ours, version(theirs))
    assert await kind.requests() == [theirs]


async def test_request_that_changed_since_it_was_read_is_not_deleted(
    live: LiveRequests, kind: TwoVersions
) -> None:
    request = await kind.make_request()
    with pytest.raises(Conflict):
        await live.delete(request, "1")
    assert await seen(live, request)


async def test_request_in_a_namespace_that_is_gone_is_gone(live: LiveRequests, kind: TwoVersions) -> None:
    request = await kind.make_request()
    elsewhere = request.model_copy(update={"namespace": "no-such-namespace"})
    assert await live.delete(elsewhere, "1") is None


@pytest.mark.parametrize("is_remembered", [True, False], ids=["discovery is old", "discovery is new"])
async def test_request_whose_version_is_no_longer_served_is_found_and_changed_in_another(
    live: LiveRequests, kind: TwoVersions, *, is_remembered: bool
) -> None:
    request = await kind.make_request()
    if is_remembered:
        assert await seen(live, request)
    await kind.stop_serving_old()

    assert await seen(live, request)
    (there,) = await kind.requests()
    there = await live.annotate(request, {"a": "b"}, version(there)) or {}
    assert there["metadata"]["annotations"] == {"a": "b"}
    assert await live.delete(request, version(there)) is not None
    assert await kind.requests() == []
    assert not await seen(live, request)


async def test_request_whose_kind_is_gone_is_gone(live: LiveRequests, kind: TwoVersions) -> None:
    request = await kind.make_request()
    assert await seen(live, request)
    await kind.uninstall()
    assert not await seen(live, request)
    assert await live.delete(request, "1") is None
    assert await live.annotate(request, {"a": "b"}, "1") is None


async def test_request_that_may_not_be_looked_at_is_not_gone(
    worker_transport: Transport, kind: TwoVersions
) -> None:
    live = LiveRequests(ClusterConnection.over(worker_transport))
    request = await kind.make_request()
    await kind.delete(request)
    for ask in (live.find(request), live.delete(request, "1"), live.annotate(request, {}, "1")):
        with pytest.raises(Forbidden):
            await ask
    await kind.stop_serving_old()
    with pytest.raises(Forbidden):
        await live.find(request)


@pytest.mark.rule("rule 10")
async def test_clean_up_deletes_and_act_meets_a_request_whose_version_is_no_longer_served(
    world: World, admin_worker: WorkerActivities, kind: TwoVersions
) -> None:
    request = await kind.make_request(world.name, owner=world.check_owner)
    await kind.stop_serving_old()

    met = (await admin_worker.act(world.order(known=(request,)))).request
    assert met is not None
    assert met.uid == request.uid
    cleaned = await admin_worker.clean_up(CleanUpInput(incident=world.incident, requests=(request,)))
    assert cleaned.remaining == ()
    assert await kind.requests() == []
