"""LiveObjects: check and target of an incident, as the API server has them now."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeAlias

from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.target import Target
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import KindUnknown
from kube.resource import Object
from kube.shared_reads import SharedReads
from objects.group_kind import GroupKind

TargetReader: TypeAlias = Callable[["LiveObjects", TargetReference], Awaitable[Target]]
"""Raises KubernetesError, NotFound where the target is no more, and ValidationError."""


class LiveObjects(NamedTuple):
    """Reads afresh."""

    client: Client
    discovery: Discovery
    shared: SharedReads
    readers: Mapping[GroupKind, TargetReader]
    """How targets are read, by kind of check."""

    async def check(self, reference: CheckReference) -> Object:
        """The check, in the first version of its kind that we read and the API server serves.

        Raises:
            KubernetesError: as the client does.

        """
        kind = CHECK_KINDS[reference.group_kind]
        try:
            resource = await self.discovery.first_served(kind)
            return await self.shared.get(resource, reference.name, reference.namespace)
        except KindUnknown:  # what is remembered of it is old
            for api_version in kind.api_versions:
                self.discovery.forget(api_version)
            raise

    async def target(self, incident: IncidentReference) -> Target:
        """The target of that name, whatever individual it is.

        Raises:
            KubernetesError: as the client does; NotFound also where the target is no more.
            ValidationError: it cannot be read.

        """
        return await self.readers[incident.check.group_kind](self, incident.target)
