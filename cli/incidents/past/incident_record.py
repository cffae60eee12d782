"""IncidentRecord: one incident, open or ended, with its whole history."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from cli.incidents.story import Episode
from cli.incidents.summary import IncidentSummary
from health.model.moves import Phase
from health.model.request_record import RequestRecord
from objects.frozen import Frozen

_PHASES = frozenset(Phase)


class PhaseTime(Frozen):
    """A phase, with the sum of the times that an incident was in it."""

    phase: Phase
    seconds: float


def phase_times(episodes: Iterable[Episode], end: datetime) -> tuple[PhaseTime, ...]:
    """The time in each phase until `end`, in the order in which the phases first began.

    A phase begins with the timer or activity that names it, and lasts until the next one. Orders change no
    phase by themselves.
    """
    sums: dict[Phase, timedelta] = {}
    begun = _beginnings(episodes)
    ends = [begin for begin, _ in begun[1:]]
    for (begin, phase), until in zip(begun, [*ends, end], strict=False):
        sums[phase] = sums.get(phase, timedelta()) + max(timedelta(), until - begin)
    return tuple(PhaseTime(phase=phase, seconds=time.total_seconds()) for phase, time in sums.items())


def _beginnings(episodes: Iterable[Episode]) -> Sequence[tuple[datetime, Phase]]:
    """When each phase began; the first one begins with the incident."""
    entries = list(episodes)
    found = [(entry.when, Phase(entry.what)) for entry in entries if entry.what in _PHASES]
    return [(entries[0].when, found[0][1]), *found[1:]] if found else []


REMEDIATION = (Phase.ACTING, Phase.REMEDIATING, Phase.EXHAUSTED)
"""The phases in which a step is taken, or was."""


@dataclass(frozen=True, kw_only=True)
class IncidentRecord:
    """One incident at `now`, with its history as far as Temporal still has it."""

    summary: IncidentSummary
    story: tuple[Episode, ...]
    now: datetime
    lacks_beginning: bool = False
    """True if Temporal has removed its earliest runs."""
    unreadable: str = ""
    """Why its history could not be read; "" if it was."""

    @property
    def began(self) -> datetime:
        """When its first run started, as far as that is known."""
        if self.summary.result is not None:
            return self.summary.result.started
        memory = self.summary.state.memory if self.summary.state else None
        known = memory.began if memory else None
        return known or (self.story[0].when if self.story else self.summary.started)

    @property
    def lasted(self) -> timedelta:
        return (self.summary.closed or self.now) - self.began

    @property
    def requests(self) -> tuple[RequestRecord, ...]:
        """The requests that it made or found."""
        if self.summary.result is not None:
            return self.summary.result.requests
        return self.summary.state.memory.records if self.summary.state else ()

    @cached_property
    def phases(self) -> tuple[PhaseTime, ...]:
        return phase_times(self.story, self.summary.closed or self.now)

    def time_in(self, *phases: Phase) -> timedelta | None:
        """The time in these phases together; None if its history does not say."""
        if not self.story:
            return None
        return timedelta(seconds=sum(phase.seconds for phase in self.phases if phase.phase in phases))

    @property
    def ended_as(self) -> str:
        """Its outcome; the phase while it is open, else the status of its workflow."""
        if self.summary.is_open:
            return str(self.summary.phase or "open")
        return str(self.summary.outcome or self.summary.status)

    @property
    def problem(self) -> str:
        """The unknown parts, with the reason of each; "" if everything is known."""
        lost = "Temporal has removed the history of its first runs" if self.lacks_beginning else ""
        return "; ".join(part for part in (self.summary.problem, self.unreadable, lost) if part)
