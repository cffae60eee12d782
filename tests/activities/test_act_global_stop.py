"""Each act checks for the global stop itself, whatever the detector has observed."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from devcluster.control_plane import ControlPlane
from health.cluster.global_stop import STOP
from health.model.observation import HoldReason
from kube.client import Client
from kube.resource import CONFIG_MAPS, NAMESPACES, Resource
from kube.transport import Transport
from tests.activities.overtaken import Without
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import LEASE_NAMESPACE, World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 42", "rule 42/without Temporal")]


async def _annotate(client: Client, reason: str | None) -> None:
    patch = {"metadata": {"annotations": {STOP: reason}}}
    await client.merge_patch(NAMESPACES, LEASE_NAMESPACE, patch)


@pytest.fixture
async def stopped(world: World) -> AsyncIterator[None]:
    """The annotation is set, and removed after the test."""
    await _annotate(world.client, "power work")
    yield
    await _annotate(world.client, None)


@pytest.mark.usefixtures("stopped")
async def test_act_makes_nothing_while_the_annotation_is_there(
    world: World, worker: WorkerActivities
) -> None:
    result = await worker.act(world.order())

    assert result.hold is not None
    assert result.hold.reason is HoldReason.STOPPED
    assert result.hold.message == "stopped in the whole cluster: power work"
    assert await world.request() is None
    assert await world.lease() is None


async def test_namespace_of_leases_that_is_not_there_holds_and_is_named(
    world: World, control_plane: ControlPlane
) -> None:
    namespace = f"leases-{uuid4().hex[:8]}"
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        result = await WorkerActivities(transport, namespace).act(world.order())

    assert result.request is None
    assert result.hold is not None
    assert namespace in result.hold.message
    assert await world.request() is None


@pytest.mark.parametrize("resource", [NAMESPACES, CONFIG_MAPS], ids=["the stop", "the policy"])
async def test_answer_that_names_no_object_does_not_say_that_nothing_is_stopped_or_in_shadow(
    world: World, control_plane: ControlPlane, resource: Resource
) -> None:
    async with await Transport.connect(str(control_plane.worker_kubeconfig)) as transport:
        client = Without(transport, resource)
        result = await WorkerActivities(transport, client=client).act(world.order())

    assert result.hold is not None
    assert f"No {resource.plural} are served here" in result.hold.message
    assert await world.request() is None
    assert await world.lease() is None


async def test_namespace_that_cannot_be_read_holds(world: World, control_plane: ControlPlane) -> None:
    async with await Transport.connect(str(control_plane.worker_kubeconfig)) as transport:
        result = await WorkerActivities(transport, "kube-public").act(world.order())

    assert result.request is None
    assert result.hold is not None
    assert "forbidden" in result.hold.message
    assert await world.request() is None
