"""ClusterConnection: one API server with transport, client, discovery and clock, for all its readers.

Checks, requests and Leases are in the management cluster. Nodes may be in workload clusters, each with a
connection of its own; the state of one connection says nothing about another.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from kube.client import Client
from kube.discovery import Discovery
from kube.resource import KUBE_SYSTEM, NAMESPACES
from kube.server_clock import ServerClock
from kube.transport import Transport
from objects.clusters import MANAGEMENT_CLUSTER, cluster_identity


@dataclass(frozen=True)
class ClusterConnection:
    """The connection to one cluster, with one set of credentials."""

    transport: Transport
    client: Client
    cluster: str = MANAGEMENT_CLUSTER
    """The name of the cluster."""

    @classmethod
    def over(
        cls,
        transport: Transport,
        field_manager: str = "paramedic",
        cluster: str = MANAGEMENT_CLUSTER,
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """A connection by `transport`; each object that its client creates gets `labels`."""
        return cls(transport, Client(transport, field_manager, labels), cluster)

    @property
    def discovery(self) -> Discovery:
        """Shared by all callers of this connection: an entry that one of them drops is dropped for all."""
        return self.client.discovery

    @property
    def server_clock(self) -> ServerClock:
        return self.transport.server_clock


async def read_cluster_identity(client: Client, name: str) -> str:
    """The identity of the cluster that `client` talks to, by its configured name and kube-system's uid.

    Raises KubernetesError: kube-system cannot be read.
    """
    kube_system = await client.get(NAMESPACES, KUBE_SYSTEM)
    return cluster_identity(name, kube_system["metadata"]["uid"])
