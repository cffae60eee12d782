"""ClusterConnection: one API server, and all that it is asked with. Whoever reads a cluster is given one.

Checks, requests and Leases are in the management cluster. Nodes may be in others, the workload clusters, each
with a connection of its own: what is known through one says nothing of another.
"""

from dataclasses import dataclass
from typing import Self

from kube.client import Client
from kube.discovery import Discovery
from kube.server_clock import ServerClock
from kube.transport import Transport
from objects.clusters import MANAGEMENT_CLUSTER


@dataclass(frozen=True)
class ClusterConnection:
    """The connection to one cluster, with one set of credentials."""

    transport: Transport
    client: Client
    discovery: Discovery
    """Shared by all who ask through this connection: what one finds to be old is old for all."""
    cluster: str = MANAGEMENT_CLUSTER
    """Which of the clusters it is."""

    @classmethod
    def over(
        cls, transport: Transport, field_manager: str = "paramedic", cluster: str = MANAGEMENT_CLUSTER
    ) -> Self:
        """The connection to the API server at the other end of `transport`."""
        return cls(transport, Client(transport, field_manager), Discovery(transport), cluster)

    @property
    def server_clock(self) -> ServerClock:
        """What is known of the clock of this API server."""
        return self.transport.server_clock
