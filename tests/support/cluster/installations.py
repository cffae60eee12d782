"""Deletes what detectors wrote about their installation; otherwise, later tests find these installations."""

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.resource import LEASES
from kube.transport import Transport
from runtime.paramedic_status import PARAMEDIC_STATUSES
from runtime.process_names import LEADER_LEASE


async def forget_installations(control_plane: ControlPlane) -> None:
    """Delete each ParamedicStatus and each Lease of a leader, in all namespaces."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport)
        for kind, name in ((PARAMEDIC_STATUSES, None), (LEASES, LEADER_LEASE)):
            for found in await client.list(kind, name=name):
                metadata = found["metadata"]
                await client.delete(kind, metadata["name"], metadata["namespace"])
