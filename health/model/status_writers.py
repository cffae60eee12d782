"""StatusWriters: who but us writes the status of a check, by what the API server noted of its writers.

The time of an entry moves when a write of that manager changes something, and the entry goes when others
have changed all of its fields since. Our detector makes a status true again at once, so one look seldom meets
the entry of somebody who spoils it: the versions of a check are to be looked at one after the other, as a
watch tells them. An entry that came from one to the next, or moved on, is a write that was seen.

A controller that was stopped may leave its entry behind, so an old one tells nothing: two that both run show
by a write that was seen, or by an entry that is younger than our own last write, or of the last hour. That
none is there does not prove that nobody else runs.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from objects.frozen import FrozenObject

RECENTLY = timedelta(hours=1)
_STATUS = "status"


class ManagedFields(FrozenObject):
    """One entry of metadata.managedFields."""

    manager: str = ""
    subresource: str = ""
    time: datetime | None = None


@dataclass(frozen=True)
class StatusWriter:
    """Somebody who wrote the status."""

    manager: str
    last: datetime
    is_over: bool
    """Whether no write was seen, and we wrote it later: then it may have been stopped before we began."""
    seen: int = 0
    """How many of its writes were seen, at least: those of one second may look like one."""


@dataclass(frozen=True)
class StatusWriters:
    """Who wrote one status, after all versions of it that were looked at."""

    noted: Mapping[str, datetime]
    """The last write of each manager, as the newest version notes it."""
    last: Mapping[str, datetime]
    """The last write of each manager that any version noted."""
    seen: Mapping[str, int] = field(default_factory=dict)
    """How many writes of each manager came between two of the versions."""

    @classmethod
    def of(cls, entries: Iterable[ManagedFields]) -> Self:
        """After the first version, by its managedFields: which writes were before it nobody has seen."""
        noted = _last_writes(entries)
        return cls(noted, noted)

    def then(self, entries: Iterable[ManagedFields]) -> Self:
        """After one version more, which came after the others."""
        noted = _last_writes(entries)
        last = {one: max(time, self.last.get(one, time)) for one, time in noted.items()}
        wrote = [one for one, time in noted.items() if one not in self.noted or time > self.noted[one]]
        seen = {one: self.seen.get(one, 0) + 1 for one in wrote}
        return type(self)(noted, {**self.last, **last}, {**self.seen, **seen})

    def others(self, ours: Collection[str], now: datetime) -> tuple[StatusWriter, ...]:
        """Who, under another name than `ours`, was seen writing or has written recently; the latest first."""
        our_last = max((time for manager, time in self.last.items() if manager in ours), default=None)
        others = [self._writer(manager, our_last) for manager in self.last if manager not in ours]
        told = [one for one in others if one.seen or _is_told(one, our_last, now)]
        return tuple(sorted(told, key=lambda writer: writer.last, reverse=True))

    def _writer(self, manager: str, our_last: datetime | None) -> StatusWriter:
        last, seen = self.last[manager], self.seen.get(manager, 0)
        is_over = not seen and our_last is not None and last <= our_last
        return StatusWriter(manager, last, is_over, seen)


def _is_told(unseen: StatusWriter, our_last: datetime | None, now: datetime) -> bool:
    return now - unseen.last <= RECENTLY or (our_last is not None and not unseen.is_over)


def _last_writes(entries: Iterable[ManagedFields]) -> dict[str, datetime]:
    """When each manager last wrote the status; one may have an entry for each version of the API."""
    last: dict[str, datetime] = {}
    for entry in entries:
        if entry.subresource == _STATUS and entry.time is not None:
            last[entry.manager] = max(entry.time, last.get(entry.manager, entry.time))
    return last
