"""Leases of nodes as others write them, and as an administrator reads them."""

from datetime import UTC, datetime, timedelta

from kube.resource import LEASES, NODES, Object
from objects.timestamps import micro_time
from tests.end_to_end.world import LEASE_NAMESPACE, World


async def put_lease(  # noqa: PLR0913  a Lease has these parts
    world: World,
    node: str,
    holder: str,
    *,
    lasts: timedelta = timedelta(hours=1),
    acquired_ago: timedelta = timedelta(),
    renewed_ago: timedelta = timedelta(),
) -> Object:
    """A Lease of the node that somebody holds."""
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
    """Let the Lease of a node be acquired so long ago; it is as long renewed as it was."""
    spec = {"acquireTime": micro_time(datetime.now(UTC) - ago)}
    await world.client.merge_patch(LEASES, f"node-{node}", {"spec": spec}, LEASE_NAMESPACE)


async def until_free(world: World, node: str) -> None:
    """Return when the node has no Lease."""

    async def is_free() -> bool:
        return await world.lease(node) is None

    await world.until(is_free, f"the Lease of {node} is still there")


async def until_held(world: World, node: str, holder: str) -> Object:
    """The spec of the Lease of a node, when somebody holds it."""

    async def is_held() -> bool:
        lease = await world.lease(node)
        return lease is not None and lease["spec"]["holderIdentity"] == holder

    await world.until(is_held, f"{holder} never held the Lease of {node}")
    lease = await world.lease(node)
    assert lease is not None
    spec: Object = lease["spec"]
    return spec
