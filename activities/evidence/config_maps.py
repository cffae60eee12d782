"""The ConfigMaps with evidence: their names, labels and retention."""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from health.evidence.document import EvidenceDocument
from health.evidence.retention import Retention, StoredEvidence
from health.model.evidence import LABEL, PREFIX, evidence_name
from health.model.references import IncidentReference
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import CONFIG_MAPS, Object
from objects.metadata import ObjectMetadata
from objects.timestamps import stamp

_LONGEST_LABEL, _HASH_LENGTH = 63, 8


@dataclass(frozen=True)
class Filing:
    """One incident's evidence, at the moment when it was taken."""

    incident: IncidentReference
    first_run_id: str
    at: datetime

    @property
    def name(self) -> str:
        """The same for every attempt, in any process."""
        return evidence_name(self.incident, self.first_run_id)

    @property
    def labels(self) -> dict[str, str]:
        """Labels by which people select the evidence of one check, target or incident."""
        incident = self.incident
        return {
            LABEL: "true",
            "paramedic.dev/check": label(str(incident.check)),
            "paramedic.dev/target": label(str(incident.target)),
            "paramedic.dev/incident": label(incident.workflow_id),
        }

    @property
    def annotations(self) -> dict[str, str]:
        """Values that do not fit into a label."""
        return {
            "paramedic.dev/workflow-id": self.incident.workflow_id,
            "paramedic.dev/run-id": self.first_run_id,
            "paramedic.dev/taken-at": stamp(self.at),
        }


def label(value: str) -> str:
    """The value as a valid label: _ replaces /, and a hash replaces the end of a long value."""
    plain = value.replace("/", "_")
    if len(plain) <= _LONGEST_LABEL:
        return plain
    end = hashlib.sha256(value.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{plain[: _LONGEST_LABEL - _HASH_LENGTH - 1]}-{end}"


@dataclass(frozen=True)
class EvidenceConfigMaps:
    """The evidence in the namespace of our processes, about Nodes of any cluster, with its retention.

    A ConfigMap is ours if it has our label and our prefix, and is deleted as it was listed (rule 52): other
    ConfigMaps share that namespace, among them the policy.
    """

    client: Client
    namespace: str
    retention: Retention

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
