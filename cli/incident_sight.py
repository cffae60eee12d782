"""IncidentSight: one incident as a command sees it: what Temporal lists of it, and what it says of itself."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cli.ages import short
from health.moves import Outcome, Phase
from health.references import IncidentReference
from workflows.messages import State


@dataclass(frozen=True)
class IncidentSight:
    """One run of an incident's workflow."""

    incident: IncidentReference
    run_id: str
    status: str
    """As Temporal says it: "Running", "Completed", "Terminated", …"""
    started: datetime
    closed: datetime | None = None
    state: State | None = None
    """None while it was not asked, when nobody answers, and after the end."""
    outcome: Outcome | None = None
    """How it ended; None while it is open, and where it was terminated."""
    problem: str = ""
    """Why nothing is known of the phase or the outcome."""

    @property
    def is_open(self) -> bool:
        """Whether it still runs."""
        return self.closed is None

    @property
    def phase(self) -> Phase | None:
        """The phase; None: unknown."""
        if not self.is_open:
            return Phase.ENDED
        return self.state.phase if self.state else None

    @property
    def details(self) -> str:
        """The reason in words, without the name of the target, which stands beside it."""
        if self.problem:
            return f"unknown: {self.problem}"
        if self.closed is not None:
            return f"{self.outcome or self.status} after {short(self.closed - self.started)}"
        return self.state.details.removeprefix(f"{self.incident.target}: ") if self.state else ""

    def lasted(self, now: datetime) -> timedelta:
        """How long it lasted, or has lasted so far."""
        return (self.closed or now) - self.started

    def goes_on_in(self, now: datetime) -> timedelta | None:
        """How long until it goes on by itself; None: unknown, or not before it is woken."""
        if self.state is None or self.state.wakes_at is None:
            return None
        return max(timedelta(), self.state.wakes_at - now)
