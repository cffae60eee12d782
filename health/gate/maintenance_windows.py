"""Maintenance windows: when remediations may begin, and when not. Pure.

A window opens by a cron schedule in a time zone, and stays open for a duration. One of `Allowed` says that
remediations begin only while it, or another such window, is open; one of `Blocked` that none begins while it
is open, whatever else is. A window that is `onlyNamed` is for checks that name it alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictStr
from pydantic.alias_generators import to_camel

from health.model.observation import Hold, HoldReason
from objects.bounds import Bounded
from objects.durations import WrittenDuration, within
from objects.timestamps import stamp

SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=31)
MOST_WINDOWS, LONGEST_SCHEDULE = 50, 100
"""A schedule of 100 characters costs up to 2 ms a minute: no number of windows may stop the event loop."""
_BEYOND_A_CHANGE = timedelta(hours=3)
"""From within the hour that a clock on the wall repeats, cronsim does not find all times of a schedule."""
_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_CLOSED_FOR_LONG = timedelta(days=1)
"""A schedule that never comes again is asked about once a day: it may be edited."""


class Remediation(StrEnum):
    """What a window that is open says."""

    ALLOWED = "Allowed"
    BLOCKED = "Blocked"


def _schedule(text: str) -> str:
    if len(text.split()) != 5:  # noqa: PLR2004  seconds and years are no part of cron in Kubernetes
        raise ValueError("must be a cron schedule of five fields, such as '0 22 * * 1-5'")
    try:
        CronSim(text, _SOME_TIME)
    except CronSimError as error:
        raise ValueError(f"is no cron schedule: {error}") from error
    return text


def _zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("is no time zone such as Europe/Berlin") from error
    return text


class MaintenanceWindow(Bounded):
    """One of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    name: Annotated[StrictStr, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    schedule: Annotated[StrictStr, Field(max_length=LONGEST_SCHEDULE), AfterValidator(_schedule)]
    duration: Annotated[WrittenDuration, within(SHORTEST, LONGEST)]
    time_zone: Annotated[StrictStr, AfterValidator(_zone)] = "UTC"
    remediation: Remediation
    only_named: StrictBool = False
    """Whether it is for those checks alone that name it."""

    def open_until(self, now: datetime) -> datetime | None:
        """When it closes, unless it opens again before that; None: it is not open."""
        began = self._openings(now).latest
        return None if began is None or began + self.duration <= now else began + self.duration

    def opens(self, now: datetime) -> datetime | None:
        """When it opens next; None: never again."""
        return self._openings(now).next

    def _openings(self, now: datetime) -> "_Openings":
        return _openings(self.schedule, self.time_zone, now.astimezone(UTC).replace(second=0, microsecond=0))


class _Openings(NamedTuple):
    """Two times of a schedule, in absolute time: durations are not those of a wall clock."""

    latest: datetime | None
    next: datetime | None


@lru_cache(maxsize=1024)
def _openings(schedule: str, time_zone: str, minute: datetime) -> _Openings:
    """Those around a whole minute; within the minute there are no others.

    Thousands of incidents ask within one: to read a schedule and look for its times costs more than all that
    an answer costs beside.
    """
    zone = ZoneInfo(time_zone)
    earlier = _in_utc(CronSim(schedule, (minute + _BEYOND_A_CHANGE).astimezone(zone), reverse=True))
    later = _in_utc(CronSim(schedule, (minute - _BEYOND_A_CHANGE).astimezone(zone)))
    return _Openings(
        next((start for start in earlier if start <= minute), None),
        next((start for start in later if start > minute), None),
    )


def _in_utc(starts: Iterable[datetime]) -> Iterator[datetime]:
    return (start.astimezone(UTC) for start in starts)


def open_windows(windows: Iterable[MaintenanceWindow], now: datetime) -> frozenset[str]:
    """The names of those that are open; every answer may be another when they are others."""
    return frozenset(window.name for window in windows if window.open_until(now) is not None)


def unique(windows: tuple[MaintenanceWindow, ...]) -> tuple[MaintenanceWindow, ...]:
    """`windows`, if each has a name of its own."""
    names = [window.name for window in windows]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two windows have the name {twice}")
    return windows


@dataclass(frozen=True)
class Closed:
    """That nothing may begin now; two that say the same are equal, whenever they were asked."""

    message: str
    ends: datetime | None
    """When that is another; None: not by itself."""
    asked: datetime = field(compare=False)

    @property
    def hold(self) -> Hold:
        """What it means for an incident, which asks again when it ends."""
        again = _CLOSED_FOR_LONG if self.ends is None else self.ends - self.asked
        return Hold(
            reason=HoldReason.MAINTENANCE_WINDOW,
            message=self.message,
            ask_again_seconds=max(1.0, again.total_seconds()),
        )


def closed(windows: Iterable[MaintenanceWindow], named: Sequence[str], now: datetime) -> Closed | None:
    """Why nothing may begin now for a check that names these windows; None: it may."""
    windows = list(windows)
    missing = [name for name in named if name not in {window.name for window in windows}]
    if missing:
        message = f"its check names the maintenance window {missing[0]}, which is not in the policy"
        return Closed(message, None, now)
    own = [window for window in windows if not window.only_named or window.name in named]
    return _blocked(own, now) or _not_allowed(own, now)


def _blocked(windows: Iterable[MaintenanceWindow], now: datetime) -> Closed | None:
    blocking = (window for window in windows if window.remediation is Remediation.BLOCKED)
    ends = {window.name: end for window in blocking if (end := window.open_until(now)) is not None}
    if not ends:
        return None
    name, end = max(ends.items(), key=lambda one: one[1])
    return Closed(f"the maintenance window {name} blocks remediation until {stamp(end)}", end, now)


def _not_allowed(windows: Iterable[MaintenanceWindow], now: datetime) -> Closed | None:
    allowing = [window for window in windows if window.remediation is Remediation.ALLOWED]
    if not allowing or any(window.open_until(now) is not None for window in allowing):
        return None
    opens = {window.name: start for window in allowing if (start := window.opens(now)) is not None}
    if not opens:
        return Closed("no maintenance window that allows remediation opens again", None, now)
    name, start = min(opens.items(), key=lambda one: one[1])
    words = f"remediation is allowed from {stamp(start)}, when the maintenance window {name} opens"
    return Closed(words, start, now)
