"""A request with an uncertain owner that changes between the read and the deletion."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from activities.requests import TRIES
from devcluster.control_plane import ControlPlane
from health.model.references import RequestReference
from health.model.task_subject import TaskSubject
from kube.client import Client
from kube.resource import NODES, Object, Resource
from kube.transport import Transport
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import NAMESPACE, REQUESTS, World
from workflows.contracts import CleanUpInput, CleanUpResult

pytestmark = [pytest.mark.cluster, pytest.mark.rule("NHC 2.8/deletion", "rule 2/preconditions")]

Change = Callable[[], Awaitable[None]]


class Overtaken(Client):
    """Right after each read another writer makes the next change."""

    def __init__(self, transport: Transport, *changes: Change) -> None:
        super().__init__(transport, "tests")
        self._changes = list(changes)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        found = await super().get(resource, name, namespace)
        if resource == REQUESTS and self._changes:
            await self._changes.pop(0)()
        return found


@pytest.fixture
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.worker_kubeconfig)) as connected:
        yield connected


async def clean_up(world: World, client: Client, transport: Transport, of: RequestReference) -> CleanUpResult:
    asked = CleanUpInput(incident=world.incident, requests=(of,), doubtful=(of.uid,))
    return await WorkerActivities(transport, client=client).clean_up(asked)


def writing(world: World, text: str) -> Change:
    """A change that a remediator makes all the time."""

    async def change() -> None:
        body: Object = {"metadata": {"annotations": {"remediator": text}}}
        await world.client.merge_patch(REQUESTS, world.name, body, NAMESPACE)

    return change


async def test_request_that_changes_is_looked_at_again_and_deleted(
    world: World, transport: Transport
) -> None:
    ours = await world.make_request()
    client = Overtaken(transport, writing(world, "at work"))

    assert (await clean_up(world, client, transport, ours)).remaining == ()
    assert await world.request() is None


async def test_request_that_is_given_to_another_owner_meanwhile_is_kept(
    world: World, transport: Transport
) -> None:
    async def give_away() -> None:
        owner = {"apiVersion": "v1", "kind": NODES.kind, "name": world.name, "uid": world.node_uid}
        body: Object = {"metadata": {"ownerReferences": [owner]}}
        await world.client.merge_patch(REQUESTS, world.name, body, NAMESPACE)

    ours = await world.make_request()
    result = await clean_up(world, Overtaken(transport, give_away), transport, ours)

    assert result.remaining == ()
    found = await world.request()
    assert found is not None
    assert "deletionTimestamp" not in found["metadata"]


async def test_request_that_is_made_anew_meanwhile_is_kept(world: World, transport: Transport) -> None:
    async def make_anew() -> None:
        await world.remove_request(world.name)
        await world.make_request()

    ours = await world.make_request()
    result = await clean_up(world, Overtaken(transport, make_anew), transport, ours)

    assert result.remaining == ()
    found = await world.request()
    assert found is not None
    assert found["metadata"]["uid"] != ours.uid
    assert "deletionTimestamp" not in found["metadata"]


async def test_request_that_changes_all_the_time_is_left_to_the_next_try(
    world: World, transport: Transport
) -> None:
    ours = await world.make_request()
    changes = [writing(world, str(number)) for number in range(TRIES)]

    result = await clean_up(world, Overtaken(transport, *changes), transport, ours)
    (failure,) = result.failures
    assert (failure.subject, failure.what) == (TaskSubject.of_request(ours.uid), f"delete {ours}")
    assert result.has_lease
    assert await world.request() is not None
