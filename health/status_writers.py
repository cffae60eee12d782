"""StatusWriters: who but us writes the status of a check, by what the API server noted of its writers.

The time of an entry moves when a write of that manager changes something, and the entry goes when others
have changed all of its fields since. A controller that was stopped may leave its entry behind, so an old one
tells nothing: two that both run show by an entry that is younger than our own last write, or of the last
hour. That none is there does not prove that nobody else runs.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from health.frozen import FrozenObject

RECENTLY = timedelta(hours=1)
_STATUS = "status"


class ManagedFields(FrozenObject):
    """One entry of metadata.managedFields."""

    manager: str = ""
    subresource: str = ""
    time: AwareDatetime | None = None


@dataclass(frozen=True)
class StatusWriter:
    """Somebody who wrote the status."""

    manager: str
    last: datetime
    is_over: bool
    """Whether we wrote it later: then it may have been stopped before we began."""


def other_writers(
    entries: Iterable[ManagedFields], ours: Collection[str], now: datetime
) -> tuple[StatusWriter, ...]:
    """Who, under another name than `ours`, has written the status recently; the latest first."""
    last = _last_writes(entries)
    our_last = max((time for manager, time in last.items() if manager in ours), default=None)
    others = [
        StatusWriter(manager, time, is_over=our_last is not None and time <= our_last)
        for manager, time in last.items()
        if manager not in ours
    ]
    told = [one for one in others if now - one.last <= RECENTLY or (our_last is not None and not one.is_over)]
    return tuple(sorted(told, key=lambda writer: writer.last, reverse=True))


def _last_writes(entries: Iterable[ManagedFields]) -> dict[str, datetime]:
    """When each manager last wrote the status; one may have an entry for each version of the API."""
    last: dict[str, datetime] = {}
    for entry in entries:
        if entry.subresource == _STATUS and entry.time is not None:
            last[entry.manager] = max(entry.time, last.get(entry.manager, entry.time))
    return last
