"""The Leases of nodes, by which all medik8s operators agree who acts on a node (semantics 1.8).

A Lease that belongs to another node of the name is not ours to end, though its holder is the same.
"""

from datetime import datetime, timedelta

from kube.client import Client
from kube.held_lease import HeldLeases, LeaseHeld
from kube.lease import name_for_node
from kube.metadata import OwnerReference

__all__ = ["LeaseHeld", "NodeLeases"]


class NodeLeases:
    """The Leases of nodes in one namespace; see `HeldLeases` for what each method raises."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._leases = HeldLeases(client, namespace)

    async def obtain(
        self, node_name: str, node_uid: str, holder: str, duration: timedelta, now: datetime
    ) -> LeaseHeld:
        """Hold the Lease of the node for `duration` and a minute; it goes with the node."""
        owner = OwnerReference(api_version="v1", kind="Node", name=node_name, uid=node_uid)
        return await self._leases.obtain(name_for_node(node_name), holder, duration, now, owner)

    async def renew(
        self, node_name: str, holder: str, duration: timedelta, now: datetime
    ) -> LeaseHeld | None:
        """Keep the Lease for `duration` from now at least; None if it is gone or not ours any more."""
        return await self._leases.renew(name_for_node(node_name), holder, duration, now)

    async def release(self, node_name: str, node_uid: str, holder: str) -> None:
        """Delete the Lease if `holder` has it for this very node; else do nothing."""
        await self._leases.release(name_for_node(node_name), holder, node_uid)
