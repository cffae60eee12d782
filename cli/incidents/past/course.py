"""The course of an incident: its phases in order, and the time that each of them took. Pure.

A phase begins with the timer or activity that names it, and lasts until the next one. Orders change no phase
by themselves.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from cli.incidents.story import Episode
from health.model.moves import Phase
from objects.frozen import Frozen

_PHASES = frozenset(Phase)


class PhaseTime(Frozen):
    """A phase, with the sum of the times that an incident was in it."""

    phase: Phase
    seconds: float


def phase_times(episodes: Iterable[Episode], end: datetime) -> tuple[PhaseTime, ...]:
    """The time in each phase until `end`, in the order in which the phases first began."""
    sums: dict[Phase, timedelta] = {}
    begun = _beginnings(episodes)
    ends = [begin for begin, _ in begun[1:]]
    for (begin, phase), until in zip(begun, [*ends, end], strict=False):
        sums[phase] = sums.get(phase, timedelta()) + max(timedelta(), until - begin)
    return tuple(PhaseTime(phase=phase, seconds=time.total_seconds()) for phase, time in sums.items())


def _beginnings(episodes: Iterable[Episode]) -> Sequence[tuple[datetime, Phase]]:
    """When each phase began; the first one begins with the incident."""
    entries = list(episodes)
    found = [(one.when, Phase(one.what)) for one in entries if one.what in _PHASES]
    return [(entries[0].when, found[0][1]), *found[1:]] if found else []
