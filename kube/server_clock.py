"""The API server's clock, as the `Date` of its answers tells it.

A Date has whole seconds, and was written at some moment between the request and its answer. So one answer
says between which two numbers the server's clock is ahead of a monotonic one of ours, and several narrow
that. An answer that contradicts what the earlier ones said is believed instead of them: a clock was set, or
another server answers. Our wall clock takes no part in that, so that setting it shows at once.

The skew that is told is the least that fits: a second and the time of a request never make one up. By that
our wall clock is corrected, so that NTP, which keeps it better than whole seconds can tell, is believed where
it may be right, and the clocks of two processes are not apart by what both are off.

A Date that cannot be read, or that a cache may have kept, is none: nothing changes by it.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

TOLERANCE = timedelta(seconds=2)
"""A step that is no larger may be a leap second, or NTP."""

_RESOLUTION_SECONDS = 1.0
_IMF_FIXDATE = "%a, %d %b %Y %H:%M:%S GMT"  # RFC 9110: servers send no other format
_FIRST_YEAR, _LAST_YEAR = 1971, 9998  # beyond these no correction can be reckoned


def wall_clock() -> datetime:
    """Return the time of day by this machine's clock."""
    return datetime.now(UTC)


def monotonic_clock() -> float:
    """Return seconds of a clock that nobody sets, and that counts the time of a suspended machine, too."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@dataclass(frozen=True)
class Offset:
    """By how many seconds the server's clock is ahead of our monotonic one: between two numbers."""

    least: float
    most: float

    @classmethod
    def of(cls, date: datetime, sent: float, received: float) -> Self:
        """Return what one answer says; `sent` and `received` are read off the monotonic clock."""
        seconds = date.timestamp()
        return cls(seconds - received, seconds + _RESOLUTION_SECONDS - sent)

    def narrowed(self, newer: "Offset") -> "Offset":
        """Return what both say, or what `newer` says where they contradict each other."""
        both = Offset(max(self.least, newer.least), min(self.most, newer.most))
        return both if both.least <= both.most else newer

    def skew(self, own_offset: float) -> timedelta:
        """Return the least by which a clock can be ahead of the server's; negative where it is behind.

        `own_offset` is by how much it is ahead of the monotonic clock, in seconds.
        """
        least, most = own_offset - self.most, own_offset - self.least
        return timedelta(seconds=max(least, min(most, 0.0)))


@dataclass(frozen=True)
class SetBack:
    """A step backwards of this machine's wall clock."""

    by: timedelta
    age: timedelta
    """How long ago that was noticed."""


class ServerClock:
    """What is known of the clock of one API server, and of our own beside it."""

    def __init__(
        self,
        wall: Callable[[], datetime] = wall_clock,
        monotonic: Callable[[], float] = monotonic_clock,
    ) -> None:
        self._wall = wall
        self.monotonic = monotonic
        """Reads the clock by which requests are timed for `note`."""
        self._offset: Offset | None = None
        self._noted_at = 0.0
        self._own_offset = self._own_offset_now()
        self._set_back: tuple[float, timedelta] | None = None

    def note(self, headers: Mapping[str, str], sent: float) -> None:
        """Note the answer that has just come to a request that was sent at `sent` by `monotonic`."""
        self.look()
        date = None if "Age" in headers else _parsed(headers.get("Date", ""))
        if date is None:
            return
        received = self.monotonic()
        told = Offset.of(date, sent, received)
        self._offset = told if self._offset is None else self._offset.narrowed(told)
        self._noted_at = received

    def skew(self) -> timedelta | None:
        """Return by how much our wall clock is ahead of the server's now, at least; None if none told yet."""
        return None if self._offset is None else self._offset.skew(self._own_offset_now())

    def age(self) -> timedelta | None:
        """Return the time since the last answer with a Date; None before the first."""
        if self._offset is None:
            return None
        return timedelta(seconds=self.monotonic() - self._noted_at)

    def now(self) -> datetime:
        """Return the time of day by the server's clock: ours, less what it is off for certain."""
        skew, own = self.skew(), self._wall()
        return own if skew is None else own - skew

    def set_back(self) -> SetBack | None:
        """Return how our wall clock was last set back by over `TOLERANCE`, as far as we saw; None: never."""
        by = timedelta(seconds=self._own_offset - self._own_offset_now())
        if by > TOLERANCE:
            return SetBack(by, timedelta(0))  # a moment ago: nobody has looked since
        if self._set_back is None:
            return None
        noticed_at, by = self._set_back
        return SetBack(by, timedelta(seconds=self.monotonic() - noticed_at))

    def look(self) -> None:
        """Look whether our wall clock was set back; so does every answer."""
        before, self._own_offset = self._own_offset, self._own_offset_now()
        by = timedelta(seconds=before - self._own_offset)
        if by > TOLERANCE:
            self._set_back = self.monotonic(), by

    def _own_offset_now(self) -> float:
        return self._wall().timestamp() - self.monotonic()


def _parsed(date: str) -> datetime | None:
    try:
        parsed = datetime.strptime(date, _IMF_FIXDATE).replace(tzinfo=UTC)
    except ValueError:
        return None
    return parsed if _FIRST_YEAR <= parsed.year <= _LAST_YEAR else None
