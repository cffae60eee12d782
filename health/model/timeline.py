"""Timeline: what happened in an incident, as the incident itself remembers it. Pure.

It is bounded, because an incident may last for months. Equal neighbours are one entry, and entries after the
first ones are left out, the oldest first. The time in each phase is summed apart, so it is exact whatever is
left out.
"""

from datetime import datetime, timedelta
from typing import Self

from health.model.moves import Phase
from objects.frozen import Frozen, OpenEnum
from objects.short_text import PersonText, ShortText

MOST_ENTRIES = 60
MOST_BYTES = 8 * 1024
"""Bytes of the JSON of all entries."""
FIRST_KEPT = 10
"""How an incident began is kept, whatever follows."""


class TimelineEntry(Frozen):
    """One entry, which occurred `times` times in a row."""

    at: datetime
    phase: OpenEnum[Phase]
    what: ShortText
    """The event in words, with its reason."""
    who: PersonText | None = None
    """The person who ordered it; None: no person did."""
    times: int = 1

    @property
    def size(self) -> int:
        """Bytes of its JSON; `MOST_BYTES` bounds the sum of all entries."""
        return len(self.model_dump_json().encode())

    def is_like(self, other: "TimelineEntry") -> bool:
        return (self.phase, self.what, self.who) == (other.phase, other.what, other.who)


class PhaseTime(Frozen):
    """A phase, with the sum of the times that an incident was in it."""

    phase: OpenEnum[Phase]
    seconds: float


class Timeline(Frozen):
    """The entries of one incident, oldest first, and its time in each phase."""

    entries: tuple[TimelineEntry, ...] = ()
    left_out: int = 0
    """The number of entries that were left out after the first ones."""
    phase: OpenEnum[Phase] | None = None
    """The present phase; None: nothing happened yet."""
    since: datetime | None = None
    """When the present phase began."""
    past: tuple[PhaseTime, ...] = ()
    """The time in phases that have ended, in the order in which they first began."""

    def noting(self, entry: TimelineEntry, began: datetime) -> Self:
        """The same with one more entry, merged with an equal one before it.

        The first phase began with the incident, at `began`.
        """
        entries, left_out = [*self.entries, entry], self.left_out
        if self.entries and self.entries[-1].is_like(entry):
            latest = self.entries[-1]
            entries = [*self.entries[:-1], latest.model_copy(update={"times": latest.times + entry.times})]
        while len(entries) > MOST_ENTRIES or sum(entry.size for entry in entries) > MOST_BYTES:
            del entries[min(FIRST_KEPT, len(entries) - 2)]
            left_out += 1
        changes: dict[str, object] = {"entries": tuple(entries), "left_out": left_out}
        if entry.phase != self.phase:
            since = began if self.phase is None else entry.at
            changes |= {"past": self.phases(entry.at), "phase": entry.phase, "since": since}
        return self.model_copy(update=changes)

    def phases(self, until: datetime) -> tuple[PhaseTime, ...]:
        """The time in each phase until then, in the order in which the phases first began."""
        if self.phase in (None, Phase.ENDED) or self.since is None:
            return self.past
        sums = {entry.phase: entry.seconds for entry in self.past}
        lasted = max(timedelta(), until - self.since).total_seconds()
        sums[self.phase] = sums.get(self.phase, 0.0) + lasted
        return tuple(PhaseTime(phase=phase, seconds=seconds) for phase, seconds in sums.items())
