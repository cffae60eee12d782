"""Evidence: where an incident saved the state of its target right before its first step. Pure.

The incident knows the place of the evidence and not its contents, which never travel through Temporal. The
name is derived from the incident and its first run, so a second attempt to save finds the first one's
object.
"""

import hashlib
import re
from datetime import datetime
from enum import StrEnum

from health.model.references import IncidentReference
from objects.frozen import Frozen
from objects.short_text import ShortText

PREFIX = "paramedic-evidence-"
"""Prefix of the name of every ConfigMap with evidence; an admission policy matches it."""
LABEL = "paramedic.dev/evidence"
"""On every ConfigMap with evidence."""
_LONGEST_TARGET = 150
_HASH_LENGTH = 10


class EvidenceStore(StrEnum):
    """Where a check wants its evidence saved, as in its annotation."""

    CONFIG_MAP = "ConfigMap"
    """A ConfigMap in the namespace of our processes."""


class EvidenceRecord(Frozen):
    """The result of one attempt to save evidence."""

    namespace: str = ""
    name: str
    """The name of the ConfigMap in that namespace."""
    at: datetime
    """When the attempt was made."""
    problem: ShortText | None = None
    """Why the evidence is not saved; None: it is saved."""
    lacks: tuple[ShortText, ...] = ()
    """Parts that are missing, in words: "37 of 110 pods"."""

    @property
    def is_saved(self) -> bool:
        return not self.problem

    @property
    def place(self) -> str:
        """Where the evidence is, or would have been saved."""
        return f"ConfigMap {'/'.join(part for part in (self.namespace, self.name) if part)}"

    @property
    def words(self) -> str:
        if self.problem:
            return f"not saved: {self.problem}"
        return f"{self.place} ({'; '.join(self.lacks)})" if self.lacks else self.place

    def __str__(self) -> str:
        return f"evidence: {self.words}"


def evidence_name(incident: IncidentReference, first_run_id: str) -> str:
    """A name that is valid in Kubernetes, for the incident that began with this run."""
    whole = hashlib.sha256(f"{incident.workflow_id} {first_run_id}".encode()).hexdigest()
    target = re.sub(r"[^a-z0-9-]", "-", incident.target.name.lower())[:_LONGEST_TARGET].strip("-")
    return f"{PREFIX}{target or 'target'}-{whole[:_HASH_LENGTH]}"
