"""Remediation of one control-plane node at a time."""

from datetime import UTC, datetime, timedelta

import pytest

from kube.errors import NotFound
from kube.lease import CONTROL_PLANE_LOCK
from kube.resource import LEASES, NODES
from tests.support.story.second_check import events_of
from tests.support.story.world import LEASE_NAMESPACE, World

pytestmark = pytest.mark.cluster

CONTROL_PLANE, MASTER = "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"
ETCD, RKE_CONTROL_PLANE = "node-role.kubernetes.io/etcd", "node-role.kubernetes.io/controlplane"
LABEL = "remediation.medik8s.io/isControlPlaneNode"
SECONDS = timedelta(seconds=20)
"""Less than the minute after which the NodeHealthCheck operator tries again."""


async def label(world: World, node: str, **labels: str) -> None:
    await world.client.merge_patch(NODES, node, {"metadata": {"labels": labels}})


async def holder_of_the_lock(world: World) -> str:
    """The holder of the lock; "" if it is free."""
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
async def test_of_two_control_plane_nodes_that_fail_in_the_same_second_one_waits_until_the_other_is_done(
    world: World,
) -> None:
    worker, *nodes = (await world.add_named_nodes("worker", "control-plane", "master")).values()
    for node, role in zip(nodes, (CONTROL_PLANE, MASTER), strict=True):
        await label(world, node, **{role: ""})
    await world.add_check()
    since = datetime.now(UTC)
    for node in (*nodes, worker):
        await world.set_ready(node, "Unknown", since)

    await world.until_requested(worker)
    await world.until(lambda: one_is_skipped(world), "it never was one request, and one that waits")
    (first,) = world.requests.latest.keys() - {worker}
    (second,) = set(nodes) - {first}
    assert await holder_of_the_lock(world) == f"NodeHealthCheck-{world.name}/{first}"
    assert (await world.request(first))["metadata"]["labels"][LABEL] == ""
    assert LABEL not in (await world.request(worker))["metadata"]["labels"]

    await world.set_finalizers(first, ["paramedic.test/wait"])
    await world.recover(first)
    await world.until(lambda: is_being_deleted(world, first), f"the request of {first} was never deleted")
    await world.until_status(phase="Remediating", healthyNodes=0, observedNodes=3)
    assert world.requests.created(second) == 0
    await world.set_finalizers(first, None)
    freed = datetime.now(UTC)
    await world.until_requested(second)
    assert datetime.now(UTC) - freed < SECONDS
    assert world.requests.created(first) == 1
    assert (await world.request(second))["metadata"]["labels"][LABEL] == ""
    assert await holder_of_the_lock(world) == f"NodeHealthCheck-{world.name}/{second}"
    await world.recover(second, worker)
    await world.until_clean(*nodes, worker)
    await until_no_lock(world)
    assert await skipped_of(world) == [("Warning", "RemediationSkipped", f"[remediation] {skipped(second)}")]


@pytest.mark.rule("rule 61")
async def test_of_two_etcd_nodes_that_fail_in_the_same_second_one_has_a_request(world: World) -> None:
    nodes = (await world.add_named_nodes("etcd", "etcd-and-cp", "controlplane")).values()
    for node, role in zip(nodes, (ETCD, ETCD, RKE_CONTROL_PLANE), strict=True):
        await label(world, node, **{role: "true"})
    await world.add_check()
    since = datetime.now(UTC)
    for node in nodes:
        await world.set_ready(node, "Unknown", since)

    await world.until(lambda: are_skipped(world, 2), "it never was one request, and two that wait")
    (first,) = world.requests.latest
    assert (await world.request(first))["metadata"]["labels"][LABEL] == ""
    assert await holder_of_the_lock(world) == f"NodeHealthCheck-{world.name}/{first}"
    second, third = set(nodes) - {first}
    await world.recover(second, third)
    await world.recover(first)
    await world.until_clean(*nodes)
    await until_no_lock(world)
    assert (world.requests.created(second), world.requests.created(third)) == (0, 0)


async def are_skipped(world: World, count: int) -> bool:
    return len(await skipped_of(world)) == count and len(world.requests.latest) == 1


async def one_is_skipped(world: World) -> bool:
    """True when the worker and one control-plane node have a request, and the other has an Event."""
    return len(await skipped_of(world)) == 1 and len(world.requests.latest) == 2


async def skipped_of(world: World) -> list[tuple[str, str, str]]:
    return [event for event in await events_of(world, world.name) if event[1] == "RemediationSkipped"]


async def is_being_deleted(world: World, node: str) -> bool:
    return "deletionTimestamp" in (await world.request(node))["metadata"]
