"""Evidence: what was true of a target right before its first step, as an incident knows of it. Pure.

An incident knows where it is and nothing of what is in it: that never travels through Temporal. The name is
made of the incident and its first run, so whoever saves it a second time meets the first one's.
"""

import hashlib
import re
from datetime import datetime
from enum import StrEnum

from health.model.references import IncidentReference
from objects.frozen import Frozen, OpenEnum

PREFIX = "paramedic-evidence-"
"""Begins the name of every ConfigMap and file with evidence; an admission policy goes by it."""
LABEL = "paramedic.dev/evidence"
"""On every ConfigMap with evidence."""
_LONGEST_TARGET = 150
_HASH_LENGTH = 10


class EvidenceStore(StrEnum):
    """Where evidence is saved, as people choose it for a check."""

    CONFIG_MAP = "ConfigMap"
    """In the namespace of our processes."""
    FILE = "File"
    """In a directory of the worker, which a setting of it names."""


class EvidenceRecord(Frozen):
    """What became of it."""

    store: OpenEnum[EvidenceStore]
    namespace: str = ""
    """Of a ConfigMap."""
    name: str
    """Of the ConfigMap, or the path of the file."""
    at: datetime
    """When it was taken, or tried."""
    problem: str = ""
    """Why it is not saved; "" where it is."""
    lacks: tuple[str, ...] = ()
    """What is missing of it, in words: "37 of 110 pods"."""

    @property
    def is_saved(self) -> bool:
        """Whether it is there."""
        return not self.problem

    @property
    def place(self) -> str:
        """Where it is, or would be."""
        return f"{self.store} {'/'.join(part for part in (self.namespace, self.name) if part)}"

    @property
    def words(self) -> str:
        """The place, and what is missing; or why there is none."""
        if self.problem:
            return f"not saved: {self.problem}"
        return f"{self.place} ({'; '.join(self.lacks)})" if self.lacks else self.place

    def __str__(self) -> str:
        return f"evidence: {self.words}"


def evidence_name(incident: IncidentReference, first_run_id: str) -> str:
    """The name of that of the incident that began with this run; one that Kubernetes and files take."""
    whole = hashlib.sha256(f"{incident.workflow_id} {first_run_id}".encode()).hexdigest()
    target = re.sub(r"[^a-z0-9-]", "-", incident.target.name.lower())[:_LONGEST_TARGET].strip("-")
    return f"{PREFIX}{target or 'target'}-{whole[:_HASH_LENGTH]}"
