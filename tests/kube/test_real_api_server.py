"""Answers of a real API server, and all parts together on it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.consistent_read import confirm_api_server, current_version, is_earlier
from kube.discovery import Discovery
from kube.errors import AlreadyExists, Conflict, Invalid, KindUnknown, LeaseTaken, NotFound
from kube.events import Events
from kube.held_lease import HeldLeases
from kube.leader import LeaderElection, Leadership
from kube.lease import LeaseHolder
from kube.record import Change
from kube.reflector import Reflector
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES, Object, Resource
from kube.transport import Transport
from objects.event import Event, InvolvedObject, Severity
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata, OwnerReference
from tests.support.api.eventually import eventually

pytestmark = pytest.mark.cluster

SELECTOR = "tests.kube=yes"
NOW = datetime(2025, 1, 1, tzinfo=UTC)


class NodeRecord(FrozenObject):
    metadata: ObjectMetadata


@pytest.fixture
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield connected


@pytest.fixture
async def node(client: Client) -> AsyncIterator[Object]:
    made = await client.create(NODES, _node("tests-kube"))
    yield made
    with suppress(NotFound):
        await client.delete(NODES, "tests-kube")


def _node(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"tests.kube": "yes"}},
    }


async def test_errors_of_the_api_server_are_distinguished(client: Client, node: Object) -> None:
    with pytest.raises(AlreadyExists):
        await client.create(NODES, _node("tests-kube"))
    with pytest.raises(Invalid):
        await client.create(NODES, _node("Not_A_Name"))
    with pytest.raises(Conflict):
        await client.merge_patch(
            NODES, "tests-kube", {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}
        )
    with pytest.raises(Conflict):
        await client.delete(NODES, "tests-kube", uid="another", resource_version=None)
    with pytest.raises(NotFound) as caught:
        await client.get(NODES, "nowhere")
    assert not isinstance(caught.value, KindUnknown)
    with pytest.raises(KindUnknown):
        await client.get(Resource("example.com/v1", "Box", "boxes", namespaced=False), "a")
    assert node["metadata"]["name"] == "tests-kube"


async def test_kinds_are_found(transport: Transport) -> None:
    discovery = Discovery(transport)

    assert await discovery.resource("coordination.k8s.io/v1", "Lease") == LEASES
    with pytest.raises(KindUnknown):
        await discovery.resource("v1", "Box")


async def test_version_that_the_server_has_not_reached_is_known(transport: Transport, node: Object) -> None:
    version = node["metadata"]["resourceVersion"]
    path = NODES.path()

    now = await current_version(transport, path)
    assert not is_earlier(now, version)
    assert is_earlier(now, str(int(version) + 1_000_000))
    await confirm_api_server(transport)


async def test_reflector_follows_a_node(transport: Transport, client: Client, node: Object) -> None:
    changes: list[Change[NodeRecord]] = []
    reflector = Reflector(transport, NODES, NodeRecord, label_selector=SELECTOR, notify=changes.append)
    running = asyncio.create_task(reflector.run())
    try:
        await reflector.wait_synced()
        await client.merge_patch(NODES, "tests-kube", {"metadata": {"annotations": {"a": "b"}}})
        await eventually(lambda: len(changes) == 2)
        await client.delete(NODES, "tests-kube", uid=node["metadata"]["uid"])
        await eventually(lambda: changes[-1].kind == "DELETED")
        assert not reflector.store
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.mark.rule("NHC 2.5/obtain/foreign")
async def test_lease_of_a_node_is_held_by_one(client: Client, node: Object) -> None:
    leases, name, ten = HeldLeases(client, "tests-kube-leases"), "node-tests-kube", timedelta(minutes=10)
    uid = node["metadata"]["uid"]
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tests-kube-leases"}}
    await client.create(NAMESPACES, namespace)
    owner = OwnerReference(api_version="v1", kind="Node", name="tests-kube", uid=uid)

    first, second = LeaseHolder("first", uid), LeaseHolder("second", uid)
    await leases.obtain(name, first, ten, NOW, owner)
    with pytest.raises(LeaseTaken, match="first"):
        await leases.obtain(name, second, ten, NOW, owner)
    held = await leases.obtain(name, second, ten, NOW + timedelta(minutes=12), owner)
    assert held.acquired == NOW + timedelta(minutes=12)
    assert await leases.renew(name, first, ten, NOW) is None
    await leases.release(name, first)
    await leases.release(name, LeaseHolder("second", "an earlier one"))
    assert (await client.get(LEASES, "node-tests-kube", "tests-kube-leases"))["spec"]["leaseTransitions"] == 1
    await leases.release(name, second)
    with pytest.raises(NotFound):
        await client.get(LEASES, "node-tests-kube", "tests-kube-leases")


@pytest.mark.rule("rule 15")
async def test_event_is_emitted_once(client: Client, node: Object) -> None:
    about = InvolvedObject(
        api_version="v1", kind="Node", namespace="", name="tests-kube", uid=node["metadata"]["uid"]
    )
    event = Event(seed="seed", severity=Severity.NORMAL, reason="Tested", message="It was tested.")
    events = Events(client, "paramedic", "tests")

    await events.write(event, about, NOW)
    await events.write(event, about, NOW)

    written = [event for event in await client.list(EVENTS, "default") if event["reason"] == "Tested"]
    assert len(written) == 1


async def test_leadership_goes_to_the_next_when_it_is_given_back(client: Client) -> None:
    first, second = Leadership(), Leadership()
    elections = [
        LeaderElection(client, "default", "tests-kube", identity, leadership)
        for identity, leadership in (("1", first), ("2", second))
    ]
    leading = asyncio.create_task(elections[0].run())
    await eventually(first.is_leader)
    waiting = asyncio.create_task(elections[1].run())
    leading.cancel()
    await eventually(second.is_leader)
    assert not first.is_leader()
    waiting.cancel()
    await asyncio.wait([leading, waiting])
