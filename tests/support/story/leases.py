"""Writes Leases of nodes as other controllers do, and reads them."""

from datetime import UTC, datetime, timedelta

from kube.resource import LEASES, NODES, Object
from objects.timestamps import micro_time
from tests.support.story.world import LEASE_NAMESPACE, World


async def put_lease(  # noqa: PLR0913  a Lease has these parts
    world: World,
    node: str,
    holder: str,
    *,
    lasts: timedelta = timedelta(hours=1),
    acquired_ago: timedelta = timedelta(),
    renewed_ago: timedelta = timedelta(),
) -> Object:
    """Write a Lease of the node with this holder."""
    now = datetime.now(UTC)
    uid = (await world.client.get(NODES, node))["metadata"]["uid"]
    body: Object = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {
            "name": f"node-{node}",
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}],
        },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": int(lasts.total_seconds()),
            "acquireTime": micro_time(now - acquired_ago),
            "renewTime": micro_time(now - renewed_ago),
            "leaseTransitions": 0,
        },
    }
    return await world.client.create(LEASES, body, LEASE_NAMESPACE)


async def antedate(world: World, node: str, ago: timedelta) -> None:
    """Set the acquire time of a node's Lease into the past; the renew time stays."""
    spec = {"acquireTime": micro_time(datetime.now(UTC) - ago)}
    await world.client.merge_patch(LEASES, f"node-{node}", {"spec": spec}, LEASE_NAMESPACE)


async def until_free(world: World, node: str) -> None:
    async def is_free() -> bool:
        return await world.lease(node) is None

    await world.until(is_free, f"the Lease of {node} is still there")


async def until_held(world: World, node: str, holder: str) -> Object:
    """Wait until the Lease of a node has a holder, and return its spec."""

    async def is_held() -> bool:
        lease = await world.lease(node)
        return lease is not None and lease["spec"]["holderIdentity"] == holder

    await world.until(is_held, f"{holder} never held the Lease of {node}")
    lease = await world.lease(node)
    assert lease is not None
    spec: Object = lease["spec"]
    return spec
