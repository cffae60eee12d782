"""EvidenceConfigMaps: evidence as ConfigMaps in the namespace of our processes, wherever the Node is."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from activities.evidence.filing import Filing
from health.evidence.document import EvidenceDocument
from health.evidence.retention import Kept, Retention
from health.model.evidence import LABEL
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import CONFIG_MAPS, Object
from objects.metadata import ObjectMetadata


@dataclass(frozen=True)
class EvidenceConfigMaps:
    """Those of one namespace."""

    client: Client
    namespace: str
    retention: Retention

    def named(self, name: str) -> str:
        """It is its name."""
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
        with suppress(AlreadyExists):
            await self.client.create(CONFIG_MAPS, body, self.namespace)

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete what is too old or too much; another worker may do so at the same time.

        Raises:
            KubernetesError: they cannot be listed, or not be deleted.

        """
        listed = await self.client.list_metadata(CONFIG_MAPS, self.namespace, LABEL)
        kept = (ObjectMetadata.model_validate(one["metadata"]) for one in listed)
        over = self.retention.over((Kept(one.name, one.creation_timestamp) for one in kept), now, newest)
        await asyncio.gather(*map(self._delete, over))

    async def _delete(self, name: str) -> None:
        with suppress(NotFound):
            await self.client.delete(CONFIG_MAPS, name, self.namespace)
