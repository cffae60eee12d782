"""StatusWriters: which other managers write the status of a check, by its managedFields.

An entry gets a new time when its manager changes something, and disappears when others have since changed
all its fields. Our detector repairs a status at once, so a single version seldom shows the other writer:
each version of the check from the watch is compared with the version before. An entry that appeared or has a
newer time is a write that was seen.

A stopped controller may leave an old entry, which proves nothing. A running one shows by a write that was
seen, by an entry younger than our own last write, or by an entry of the last hour. Without any entry another
writer may still run.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from objects.frozen import FrozenObject

RECENTLY = timedelta(hours=1)
_STATUS = "status"


class ManagedFields(FrozenObject):
    """One entry of metadata.managedFields, as far as we use it."""

    manager: str = ""
    subresource: str = ""
    time: datetime | None = None


@dataclass(frozen=True)
class StatusFieldManager:
    """Another field manager that wrote the status of a check."""

    manager: str
    last: datetime
    is_over: bool
    """Whether no write was seen and ours is later: the writer may have stopped before we started."""
    seen: int = 0
    """The number of its writes that were seen, at least: several in one second may look like one."""


@dataclass(frozen=True)
class StatusWriters:
    """The writers of one status, by all versions seen so far."""

    noted: Mapping[str, datetime]
    """The last write of each manager in the newest version."""
    last: Mapping[str, datetime]
    """The last write of each manager in any version."""
    seen: Mapping[str, int] = field(default_factory=dict)
    """How many writes of each manager were seen between two versions."""

    @classmethod
    def of(cls, entries: Iterable[ManagedFields]) -> Self:
        """The writers by the first version; writes before it were not seen."""
        noted = _last_writes(entries)
        return cls(noted, noted)

    def then(self, entries: Iterable[ManagedFields]) -> Self:
        noted = _last_writes(entries)
        last = {manager: max(time, self.last.get(manager, time)) for manager, time in noted.items()}
        wrote = [
            manager
            for manager, time in noted.items()
            if manager not in self.noted or time > self.noted[manager]
        ]
        seen = {manager: self.seen.get(manager, 0) + 1 for manager in wrote}
        return type(self)(noted, {**self.last, **last}, {**self.seen, **seen})

    def others(self, ours: Collection[str], now: datetime) -> tuple[StatusFieldManager, ...]:
        """Managers not in `ours` that were seen writing or wrote recently, the latest first."""
        our_last = max((time for manager, time in self.last.items() if manager in ours), default=None)
        others = [self._writer(manager, our_last) for manager in self.last if manager not in ours]
        shown = [other for other in others if other.seen or _is_shown(other, our_last, now)]
        return tuple(sorted(shown, key=lambda writer: writer.last, reverse=True))

    def _writer(self, manager: str, our_last: datetime | None) -> StatusFieldManager:
        last, seen = self.last[manager], self.seen.get(manager, 0)
        is_over = not seen and our_last is not None and last <= our_last
        return StatusFieldManager(manager, last, is_over, seen)


def _is_shown(unseen: StatusFieldManager, our_last: datetime | None, now: datetime) -> bool:
    return now - unseen.last <= RECENTLY or (our_last is not None and not unseen.is_over)


def _last_writes(entries: Iterable[ManagedFields]) -> dict[str, datetime]:
    """When each manager last wrote the status; a manager may have an entry for each API version."""
    last: dict[str, datetime] = {}
    for entry in entries:
        if entry.subresource == _STATUS and entry.time is not None:
            last[entry.manager] = max(entry.time, last.get(entry.manager, entry.time))
    return last
