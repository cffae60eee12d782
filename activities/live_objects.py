"""LiveObjects: check and target of an incident, as the API servers have them now.

Checks and targets are in the management cluster. The Node of a target may be in another, and is read there.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from health.kinds.registry import CHECK_KINDS
from health.model.node import Node
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.target import Target
from kube.connection import ClusterConnections
from kube.errors import KindUnknown, NotFound
from kube.resource import NODES, Object
from kube.shared_reads import SharedReads
from objects.group_kind import GroupKind

TargetReader: TypeAlias = Callable[["LiveObjects", TargetReference], Awaitable[Target]]
"""Raises KubernetesError, NotFound where the target is no more, and ValidationError."""


class LiveObjects:
    """Reads afresh; targets as `readers` say, by kind of check."""

    def __init__(self, clusters: ClusterConnections, readers: Mapping[GroupKind, TargetReader]) -> None:
        self._clusters = clusters
        self.management = clusters.management
        self.shared = SharedReads(clusters.management.client)
        """Reads of the management cluster that many acts have in common."""
        self._readers = readers

    async def check(self, reference: CheckReference) -> Object:
        """The check, in the first version of its kind that we read and the API server serves.

        Raises:
            KubernetesError: as the client does.

        """
        kind, discovery = CHECK_KINDS[reference.group_kind], self.management.discovery
        try:
            resource = await discovery.first_served(kind)
            return await self.shared.get(resource, reference.name, reference.namespace)
        except KindUnknown:  # what is remembered of it is old
            for api_version in kind.api_versions:
                discovery.forget(api_version)
            raise

    async def target(self, incident: IncidentReference) -> Target:
        """The target of that name, whatever individual it is.

        Raises:
            KubernetesError: as the client does; NotFound also where the target is no more.
            ValidationError: it cannot be read.

        """
        return await self._readers[incident.check.group_kind](self, incident.target)

    async def node_of(self, target: Target) -> Node | None:
        """The Node that the target is linked to, from the cluster that it is in.

        None: it is linked to none, or the API server of that cluster itself says that it is not there (rule
        26).

        Raises:
            KubernetesError: as the client does; NotConfigured where there is no connection to that cluster.
            ValidationError: it cannot be read.

        """
        if not target.node_name:
            return None
        client = self._clusters.of(target.node_cluster).client
        try:
            return Node.model_validate(await client.get(NODES, target.node_name))
        except KindUnknown:
            raise
        except NotFound:
            return None
