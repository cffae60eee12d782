"""One control-plane node at a time, over all checks and kinds of requests."""

from datetime import UTC, datetime, timedelta

import pytest

from kube.errors import NotFound
from kube.lease import CONTROL_PLANE_LOCK
from kube.resource import LEASES, NODES
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.second_check import events_of, second_check, until_told
from tests.end_to_end.world import LEASE_NAMESPACE, World

pytestmark = pytest.mark.cluster

CONTROL_PLANE, MASTER = "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"
LABEL = "remediation.medik8s.io/isControlPlaneNode"
SECONDS = timedelta(seconds=20)
"""Less than the minute after which the NodeHealthCheck operator tries again."""


async def label(world: World, node: str, **labels: str) -> None:
    await world.client.merge_patch(NODES, node, {"metadata": {"labels": labels}})


async def holder_of_the_lock(world: World) -> str:
    """Who has the lock; "" if nobody does."""
    try:
        lease = await world.client.get(LEASES, CONTROL_PLANE_LOCK, LEASE_NAMESPACE)
    except NotFound:
        return ""
    return str(lease["spec"]["holderIdentity"])


async def until_no_lock(world: World) -> None:
    async def is_free() -> bool:
        return not await holder_of_the_lock(world)

    await world.until(is_free, "the control-plane lock was not given back")


def skipped(node: str) -> str:
    return (
        f"Skipping remediation of {node} for preventing control plane / etcd quorum loss, "
        "going to retry in a minute"
    )


@pytest.mark.rule(
    "NHC 2.4/1",
    "NHC 2.7/finalizer",
    "NHC 1.5/RemediationSkipped/control plane",
    "NHC 1.7/isControlPlaneNode",
    "NHC 1.7/node-role",
    "rule 21",
    "rule 15",
    "rule 6",
)
async def test_two_control_plane_nodes_of_two_checks_and_kinds_are_remediated_one_after_the_other(
    world: World, other_kind: OtherKind
) -> None:
    nodes = await world.add_named_nodes("first", "second", "worker")
    first, second, worker = nodes.values()
    await label(world, first, **{CONTROL_PLANE: ""})
    await label(world, second, **{MASTER: "true", "test": f"{world.name}-b"})
    await world.add_check(duration="0s")
    async with second_check(
        world, selector={"test": f"{world.name}-b"}, template=other_kind.template
    ) as other:
        await world.fail(first, worker)
        await world.until_requested(first, worker)
        await world.fail(second)
        assert (await world.request(first))["metadata"]["labels"][LABEL] == ""
        assert LABEL not in (await world.request(worker))["metadata"]["labels"]
        assert await holder_of_the_lock(world) == f"NodeHealthCheck-{world.name}/{first}"

        await until_told(world, other.name, "RemediationSkipped", skipped(second))
        await other.until_status(phase="Enabled", unhealthyNodes=[{"name": second}])
        await world.set_finalizers(first, ["paramedic.test/wait"])
        await world.recover(first)

        async def is_being_deleted() -> bool:
            return "deletionTimestamp" in (await world.request(first))["metadata"]

        await world.until(is_being_deleted, f"the request of {first} was never deleted")
        await world.until_status(healthyNodes=0, observedNodes=2)
        assert await other_kind.names() == []

        await world.set_finalizers(first, None)
        freed = datetime.now(UTC)

        async def is_requested() -> bool:
            return await other_kind.names() == [second]

        await world.until(is_requested, f"{second} never had its turn")
        assert datetime.now(UTC) - freed < SECONDS
        request = await world.client.get(other_kind.requests, second, "default")
        assert request["metadata"]["labels"][LABEL] == ""
        await world.recover(second, worker)
        await world.until_clean(first, second, worker)
        await until_no_lock(world)
        told = [event for event in await other.events() if event[1] == "RemediationSkipped"]
        assert len(told) == 1


@pytest.mark.rule("NHC 2.4/1", "rule 21")
async def test_two_control_plane_nodes_that_fail_in_the_same_second_never_have_two_requests(
    world: World,
) -> None:
    nodes = await world.add_nodes(2)
    for node in nodes:
        await label(world, node, **{CONTROL_PLANE: ""})
    await world.add_check()
    since = datetime.now(UTC)
    for node in nodes:
        await world.set_ready(node, "Unknown", since)

    async def one_waits() -> bool:
        told = [event for event in await events_of(world, world.name) if event[1] == "RemediationSkipped"]
        return len(told) == 1 and len(world.requests.latest) == 1

    await world.until(one_waits, "it never was one request, and one that waits")
    (first,) = world.requests.latest
    (second,) = set(nodes) - {first}
    assert await holder_of_the_lock(world) == f"NodeHealthCheck-{world.name}/{first}"
    await world.recover(first)
    await world.until_requested(second)
    assert world.requests.created(first) == 1
    assert await holder_of_the_lock(world) == f"NodeHealthCheck-{world.name}/{second}"
    await world.recover(second)
    await world.until_clean(*nodes)
    await until_no_lock(world)
