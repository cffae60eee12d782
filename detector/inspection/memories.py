"""IncidentMemories: what open incidents answered to a command, among it the orders of people to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from health.model.references import IncidentReference
from health.runbook.state import Memory


@dataclass(frozen=True, kw_only=True)
class IncidentMemories:
    """The memories of the open incidents that were asked."""

    found: Mapping[IncidentReference, Memory] = field(default_factory=dict)
    unknown: Mapping[IncidentReference, str] = field(default_factory=dict)
    """Why an open incident did not answer."""
    problem: str = ""
    """Why no incident could be asked; "": they could."""

    def of(self, incident: IncidentReference) -> Memory:
        """Its memory; that of a new incident if there is none or it is unknown."""
        return self.found.get(incident, Memory())

    def why_unknown(self, incident: IncidentReference) -> str:
        """Why the orders to it are unknown; "": they are known, or it is not open."""
        return self.problem or self.unknown.get(incident, "")
