"""The API server's clock, estimated from the `Date` header of its answers.

A Date has whole seconds, and was written between the request and its answer. So each answer limits the offset
between the server's clock and our monotonic one to an interval, and several answers narrow it. An answer that
contradicts earlier ones replaces them: a clock was set, or another server answers. Our wall clock plays no
part in that, so a change of it is visible at once.

The reported skew is the smallest possible one: rounding and the duration of requests never cause a skew. It
corrects our wall clock: within the interval NTP, which is more precise than whole seconds, is trusted, and
the clocks of two processes do not differ by the sum of their errors. A Date that is unreadable, or may come
from a cache, is ignored.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Self

TOLERANCE = timedelta(seconds=2)
"""A smaller step may be a leap second, or NTP."""

_RESOLUTION_SECONDS = 1.0
_IMF_FIXDATE = "%a, %d %b %Y %H:%M:%S GMT"  # RFC 9110: servers send no other format
_FIRST_YEAR, _LAST_YEAR = 1971, 9998  # beyond these years a correction could overflow


def wall_clock() -> datetime:
    """The time of day by this machine's clock."""
    return datetime.now(UTC)


_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def monotonic_clock() -> float:
    """Seconds of a clock that is never set, and that includes the time of a suspended machine."""
    return time.clock_gettime(_MONOTONIC)


@lru_cache(maxsize=1)  # a server writes the same text for a whole second
def _date(text: str) -> datetime | None:
    """The time of a Date header; None if it is unreadable, or too far away."""
    try:
        date = datetime.strptime(text, _IMF_FIXDATE).replace(tzinfo=UTC)
    except ValueError:
        return None
    return date if _FIRST_YEAR <= date.year <= _LAST_YEAR else None


@dataclass(frozen=True)
class Offset:
    """The offset of the server's clock from our monotonic clock, in seconds: an interval."""

    least: float
    most: float

    @classmethod
    def of(cls, date: datetime, sent: float, received: float) -> Self:
        """The interval by one answer; `sent` and `received` are times of the monotonic clock."""
        seconds = date.timestamp()
        return cls(seconds - received, seconds + _RESOLUTION_SECONDS - sent)

    def narrowed(self, newer: "Offset") -> "Offset":
        """The intersection of both, or `newer` if they contradict each other."""
        both = Offset(max(self.least, newer.least), min(self.most, newer.most))
        return both if both.least <= both.most else newer

    def skew(self, own_offset: float) -> timedelta:
        """The smallest skew of a clock against the server's; negative if the clock is behind.

        `own_offset` is the clock's offset from the monotonic clock, in seconds.
        """
        least, most = own_offset - self.most, own_offset - self.least
        return timedelta(seconds=max(least, min(most, 0.0)))


@dataclass(frozen=True)
class SetBack:
    """A step backwards of this machine's wall clock."""

    by: timedelta
    age: timedelta
    """The time since it was noticed."""


class ServerClock:
    """The estimated clock of one API server, and steps of our own wall clock."""

    def __init__(
        self,
        wall: Callable[[], datetime] = wall_clock,
        monotonic: Callable[[], float] = monotonic_clock,
    ) -> None:
        self._wall = wall
        self.monotonic = monotonic
        """The clock of the request times for `note`."""
        self._offset: Offset | None = None
        self._noted_at = 0.0
        self._own_offset = self._own_offset_now()
        self._set_back: tuple[float, timedelta] | None = None

    def note(self, headers: Mapping[str, str], sent: float) -> None:
        """Record the answer that has just arrived for a request sent at `sent` (by `monotonic`)."""
        self.look()
        received = self.monotonic()
        date = _date(headers.get("Date", ""))
        if date is None or "Age" in headers:
            return
        measured = Offset.of(date, sent, received)
        self._offset = measured if self._offset is None else self._offset.narrowed(measured)
        self._noted_at = received

    def skew(self) -> timedelta | None:
        """The least by which our wall clock is ahead of the server's; None before the first Date."""
        return None if self._offset is None else self._offset.skew(self._own_offset_now())

    def age(self) -> timedelta | None:
        """The time since the last answer with a Date; None before the first."""
        if self._offset is None:
            return None
        return timedelta(seconds=self.monotonic() - self._noted_at)

    def now(self) -> datetime:
        """The time of day by the server's clock: our time minus the certain skew."""
        own = self._wall()
        if self._offset is None:
            return own
        return own - self._offset.skew(own.timestamp() - self.monotonic())

    def set_back(self) -> SetBack | None:
        """The last step back of our wall clock by more than `TOLERANCE`; None if none was noticed."""
        by = timedelta(seconds=self._own_offset - self._own_offset_now())
        if by > TOLERANCE:
            return SetBack(by, timedelta(0))  # not noticed before this call
        if self._set_back is None:
            return None
        noticed_at, by = self._set_back
        return SetBack(by, timedelta(seconds=self.monotonic() - noticed_at))

    def look(self) -> None:
        """Check whether our wall clock was set back; every answer does this, too."""
        before, self._own_offset = self._own_offset, self._own_offset_now()
        by = timedelta(seconds=before - self._own_offset)
        if by > TOLERANCE:
            self._set_back = self.monotonic(), by

    def _own_offset_now(self) -> float:
        return self._wall().timestamp() - self.monotonic()
