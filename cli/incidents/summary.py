"""IncidentSummary: one incident as Temporal lists it, and as the workflow itself answers."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from health.model.incident_result import IncidentResult
from health.model.moves import Outcome
from health.model.references import IncidentReference
from workflows.messages import State


@dataclass(frozen=True, kw_only=True)
class IncidentSummary:
    """One run of an incident's workflow, open or closed; `IncidentDocument` is made of it for views."""

    incident: IncidentReference
    run_id: str
    status: str
    """Temporal's status: "Running", "Completed", "Terminated", …"""
    started: datetime
    closed: datetime | None = None
    state: State | None = None
    """None before it is queried, if no worker answers, and after the end."""
    result: IncidentResult | None = None
    """The result of its workflow; None while it is open, and if it was terminated."""
    problem: str = ""
    """Why phase or outcome is unknown."""
    unreadable: str = ""
    """Why its data in Temporal cannot be read; "" if it can."""
    has_task_failures: bool = False
    """Whether Temporal reports that its workflow task keeps failing."""

    @property
    def is_open(self) -> bool:
        return self.closed is None

    @property
    def short_name(self) -> str:
        """The names of check and target, as a person types them."""
        return f"{self.incident.check.name}/{self.incident.target.name}"

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it is open, and if it was terminated."""
        return self.result.outcome if self.result else None

    @property
    def repetition(self) -> str:
        """How often in a row its first step alone was taken, in words; "": seldom, or unknown."""
        if self.state is not None:
            return self.state.memory.repetition or ""
        remediation = self.result.remediation if self.result else None
        return remediation.repetition if remediation else ""

    def lasted(self, now: datetime) -> timedelta:
        return (self.closed or now) - self.started
