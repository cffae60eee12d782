"""IncidentSight: one incident as a command sees it: what Temporal lists of it, and what it says of itself."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from cli.ages import short
from health.going_on import Resting, goes_on_at
from health.moves import Outcome, Phase
from health.references import IncidentReference
from workflows.messages import State

_ASKS_AGAIN = re.compile(r" \(asks again in \w+\)$")
"""What was true when the incident said it; how long that is from now is told beside its words."""


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
        return self.words.removeprefix(f"{self.incident.target}: ")

    @property
    def words(self) -> str:
        """The reason as the incident says it; "" where it says nothing."""
        return _ASKS_AGAIN.sub("", self.state.details) if self.state else ""

    def lasted(self, now: datetime) -> timedelta:
        """How long it lasted, or has lasted so far."""
        return (self.closed or now) - self.started

    @property
    def goes_on_at(self) -> datetime | None:
        """When it goes on by itself; None: unknown, or not before something changes, or an order comes."""
        state = self.state
        if state is None or state.wakes_at is None or state.observation is None:
            return None
        seen = state.observation.model_copy(update={"requests": state.requests})
        return goes_on_at(Resting(state.phase, seen, state.memory, state.wakes_at))

    @property
    def asks_again(self) -> bool:
        """Whether all that it does then is to ask the detector once more."""
        return self.phase is Phase.HELD and self.state is not None and not self.state.memory.held

    def goes_on_in(self, now: datetime) -> timedelta | None:
        """How long until then."""
        return None if self.goes_on_at is None else max(timedelta(), self.goes_on_at - now)
