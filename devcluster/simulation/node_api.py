"""What a kubelet asks of the API server: its Node, the status of it, its Lease."""

from datetime import datetime
from typing import Any

from devcluster.simulation import node_lease, node_status
from devcluster.simulation.machine import Machine
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import LEASES, NAMESPACES, NODES, Object
from kube.transport import Transport

FIELD_MANAGER = "kubelet"


class NodeApi:
    """The requests of all kubelets, over one transport. Every method raises KubernetesError."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._client = Client(transport, FIELD_MANAGER)

    async def ensure_lease_namespace(self) -> None:
        """Create the namespace of the Leases, as kube-apiserver does some seconds after its start."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": node_lease.NAMESPACE}}
        try:
            await self._client.create(NAMESPACES, body)
        except AlreadyExists:
            return

    async def register(self, machine: Machine, now: datetime) -> None:
        """Create the Node; one that is there is gone on with."""
        try:
            await self._client.create(NODES, node_status.node(machine, now))
        except AlreadyExists:
            return

    async def find_node(self, name: str) -> Object | None:
        """Read the Node, None if somebody deleted it."""
        try:
            return await self._client.get(NODES, name)
        except NotFound:
            return None

    async def report(self, node: Object, machine: Machine, now: datetime) -> None:
        """Write the status of the Node, by the patch that leaves conditions of others alone."""
        shown = node.get("status", {}).get("conditions", ())
        await self._transport.request(
            "PATCH",
            NODES.path(name=machine.name, subresource="status"),
            query=[("fieldManager", FIELD_MANAGER)],
            body=_bound_to(node, node_status.status(machine, shown, now)),
            content_type="application/strategic-merge-patch+json",
        )

    async def renew_lease(self, name: str, now: datetime) -> bool:
        """Renew the Lease of that node; False if there is none."""
        try:
            await self._client.merge_patch(LEASES, name, node_lease.renewal(now), node_lease.NAMESPACE)
        except NotFound:
            return False
        return True

    async def create_lease(self, node: Object, now: datetime) -> None:
        """Create the Lease of a Node."""
        metadata = node["metadata"]
        lease = node_lease.lease(metadata["name"], metadata["uid"], now)
        try:
            await self._client.create(LEASES, lease, node_lease.NAMESPACE)
        except AlreadyExists:
            return


def _bound_to(node: Object, status: dict[str, Any]) -> Object:
    """Make a patch that a Node created anew under the same name refuses."""
    return {"metadata": {"uid": node["metadata"]["uid"]}, "status": status}
