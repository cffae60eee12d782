"""Filing: under which name and labels evidence is saved, and what saves it."""

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
        """The same for every attempt, whoever makes it."""
        return evidence_name(self.incident, self.first_run_id)

    @property
    def labels(self) -> dict[str, str]:
        """What people select by."""
        incident = self.incident
        return {
            LABEL: "true",
            "paramedic.dev/check": label(str(incident.check)),
            "paramedic.dev/target": label(str(incident.target)),
            "paramedic.dev/incident": label(incident.workflow_id),
        }

    @property
    def annotations(self) -> dict[str, str]:
        """What has no room in a label."""
        return {
            "paramedic.dev/workflow-id": self.incident.workflow_id,
            "paramedic.dev/run-id": self.first_run_id,
            "paramedic.dev/taken-at": stamp(self.at),
        }


class EvidenceFiles(Protocol):
    """One place for evidence."""

    @property
    def namespace(self) -> str:
        """Of its ConfigMaps; "" for files."""

    def named(self, name: str) -> str:
        """How people find what is saved under this name."""

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Save it, unless it is there; raises KubernetesError and OSError."""

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete what is too old or too much, but for `newest`; raises KubernetesError and OSError."""


def label(value: str) -> str:
    """As a label may be: with _ for /, and where it is too long with a hash for its end."""
    plain = value.replace("/", "_")
    if len(plain) <= _LONGEST_LABEL:
        return plain
    end = hashlib.sha256(value.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{plain[: _LONGEST_LABEL - _HASH_LENGTH - 1]}-{end}"
