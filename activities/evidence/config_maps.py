"""EvidenceConfigMaps: evidence as ConfigMaps in the namespace of our processes, for Nodes of any cluster.

A ConfigMap is ours if it has our label and our prefix, and is deleted as it was listed (rule 52): other
ConfigMaps share that namespace, among them the policy.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from activities.evidence.filing import Filing
from health.evidence.document import EvidenceDocument
from health.evidence.retention import Retention, StoredEvidence
from health.model.evidence import LABEL, PREFIX
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import CONFIG_MAPS, Object
from objects.metadata import ObjectMetadata


@dataclass(frozen=True)
class EvidenceConfigMaps:
    """The evidence in one namespace, with its retention."""

    client: Client
    namespace: str
    retention: Retention

    def named(self, name: str) -> str:
        """The name itself, which is enough to find a ConfigMap."""
        return name

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Create it; an earlier attempt may have done so.

        Raises:
            KubernetesError: it cannot be created.

        """
        metadata = {"name": filing.name, "labels": filing.labels, "annotations": filing.annotations}
        body: Object = {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": metadata,
            "immutable": True,
            "data": dict(document.texts),
        }
        try:
            await self.client.create(CONFIG_MAPS, body, self.namespace)
        except AlreadyExists:
            if filing.name not in {config_map.name for config_map in await self._own()}:
                raise

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete evidence beyond the retention; another worker may do so at the same time.

        Raises:
            KubernetesError: listing or deleting failed.

        """
        own = {config_map.name: config_map for config_map in await self._own()}
        kept = (StoredEvidence(stored.name, stored.creation_timestamp) for stored in own.values())
        over = self.retention.over(kept, now, newest)
        await asyncio.gather(*(self._delete(own[name]) for name in over))

    async def _own(self) -> list[ObjectMetadata]:
        listed = await self.client.list_metadata(CONFIG_MAPS, self.namespace, LABEL)
        found = (ObjectMetadata.model_validate(stored["metadata"]) for stored in listed)
        return [stored for stored in found if stored.name.startswith(PREFIX)]

    async def _delete(self, metadata: ObjectMetadata) -> None:
        with suppress(NotFound):
            await self.client.delete(
                CONFIG_MAPS,
                metadata.name,
                self.namespace,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            )
