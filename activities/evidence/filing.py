"""Filing: the name and labels of saved evidence, and the interface of its stores."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from health.evidence.document import EvidenceDocument
from health.model.evidence import LABEL, evidence_name
from health.model.references import IncidentReference
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


class EvidenceFiles(Protocol):
    """One store for evidence, as ConfigMaps or files."""

    @property
    def namespace(self) -> str:
        """The namespace of its ConfigMaps; "" for files."""

    def named(self, name: str) -> str:
        """The name or path by which people find this evidence."""

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Save it, unless it exists; raises KubernetesError and OSError."""

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete evidence beyond the retention, except `newest`; raises KubernetesError and OSError."""


def label(value: str) -> str:
    """The value as a valid label: _ replaces /, and a hash replaces the end of a long value."""
    plain = value.replace("/", "_")
    if len(plain) <= _LONGEST_LABEL:
        return plain
    end = hashlib.sha256(value.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{plain[: _LONGEST_LABEL - _HASH_LENGTH - 1]}-{end}"
