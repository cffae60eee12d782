"""Maintenance windows: the times in which remediations may begin. Pure.

A window opens by a cron schedule in a time zone and stays open for a duration. With `Allowed` windows,
remediations begin only while one of them is open. While a `Blocked` window is open none begins, regardless
of other windows. A window with `onlyNamed` applies only to checks that name it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictStr
from pydantic.alias_generators import to_camel

from health.model.observation import Hold, HoldReason
from objects.bounds import Bounded
from objects.durations import WrittenDuration, within
from objects.patterns import LABEL
from objects.timestamps import stamp

SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=31)
MOST_WINDOWS, LONGEST_SCHEDULE = 50, 100
"""A schedule of 100 characters costs up to 2 ms a minute; the limits protect the event loop."""
_OF_THE_MACHINE = frozenset({"localtime", "posixrules", "Factory"})
"""Files beside the time zones that depend on the machine, or mean nothing.

Of the folders there, `posix/` is a copy that some machines lack, and `right/` counts leap seconds."""
_PART = timedelta(hours=6)
"""Openings are joined in parts of a day and one part ahead; a schedule of each minute costs 7 ms per part."""
MOST_NAMED = 3
_BEYOND_A_CHANGE = timedelta(hours=3)
"""Starting within the hour that a wall clock repeats, cronsim misses times of a schedule."""
_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_CLOSED_FOR_LONG = timedelta(days=1)
"""A schedule that never matches again is checked once a day, because the policy may be edited."""


class WindowEffect(StrEnum):
    """The effect of a window while it is open."""

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
    if text in _OF_THE_MACHINE or text.startswith(("posix/", "right/")):
        raise ValueError("is not a time zone that is the same on every machine, such as Europe/Berlin")
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("is no time zone such as Europe/Berlin") from error
    return text


class MaintenanceWindow(Bounded):
    """One maintenance window, as the policy defines it."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    name: Annotated[StrictStr, LABEL]
    schedule: Annotated[StrictStr, Field(max_length=LONGEST_SCHEDULE), AfterValidator(_schedule)]
    duration: Annotated[WrittenDuration, within(SHORTEST, LONGEST)]
    time_zone: Annotated[StrictStr, AfterValidator(_zone)] = "UTC"
    remediation: WindowEffect
    only_named: StrictBool = False
    """Whether only checks that name the window use it."""

    def open_until(self, now: datetime) -> datetime | None:
        """When the window closes, unless it opens again before; None: it is closed."""
        began = self._openings(now).latest
        return None if began is None or began + self.duration <= now else began + self.duration

    def opens(self, now: datetime) -> datetime | None:
        """When the window opens next; None: never."""
        return self._openings(now).next

    def _openings(self, now: datetime) -> "_Openings":
        return _openings(self.schedule, self.time_zone, now.astimezone(UTC).replace(second=0, microsecond=0))


class _Openings(NamedTuple):
    """The opening times around a minute, in absolute time, because durations ignore wall clocks."""

    latest: datetime | None
    next: datetime | None


@lru_cache(maxsize=1024)
def _openings(schedule: str, time_zone: str, minute: datetime) -> _Openings:
    """The openings around a whole minute; there are no others within the minute.

    Cached, because thousands of incidents ask within the same minute and searching a schedule costs more
    than the rest of an answer.
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


class _Span(NamedTuple):
    """A time without a gap in which windows are open."""

    start: datetime
    end: datetime
    names: frozenset[str]
    goes_on: bool = False
    """Whether a window is open beyond `end`, which is the limit of joining."""


@lru_cache(maxsize=256)
def _spans(windows: tuple[MaintenanceWindow, ...], part: datetime) -> tuple[_Span, ...]:
    """The times in a part of a day and the next part in which any of these is open, in order."""
    joined: list[_Span] = []
    for span in sorted(span for window in windows for span in _openings_as_spans(window, part)):
        if joined and span.start <= joined[-1].end:
            last = joined[-1]
            joined[-1] = _Span(last.start, max(last.end, span.end), last.names | span.names)
        else:
            joined.append(span)
    if joined:
        goes_on = any(window.open_until(joined[-1].end) for window in windows)
        joined[-1] = joined[-1]._replace(goes_on=goes_on)
    return tuple(joined)


@lru_cache(maxsize=1024)
def _openings_as_spans(window: MaintenanceWindow, part: datetime) -> tuple[_Span, ...]:
    latest, horizon = _openings(window.schedule, window.time_zone, part).latest, part + 2 * _PART
    zone, names = ZoneInfo(window.time_zone), frozenset({window.name})
    schedule = CronSim(window.schedule, (part - _BEYOND_A_CHANGE).astimezone(zone))
    starts = takewhile(lambda start: start <= horizon, _in_utc(schedule))
    openings = (latest, *(start for start in starts if start > part))
    return tuple(
        _Span(opening, opening + window.duration, names) for opening in openings if opening is not None
    )


def open_windows(windows: Iterable[MaintenanceWindow], now: datetime) -> frozenset[str]:
    """The names of the open windows; after a change, any answer may differ."""
    return frozenset(window.name for window in windows if window.open_until(now) is not None)


@dataclass(frozen=True)
class Closed:
    """No remediation may begin now. Equality ignores the time of the question."""

    message: str
    ends: datetime | None
    """When this ends or changes; None: not by itself."""
    asked: datetime = field(compare=False)

    @property
    def hold(self) -> Hold:
        again = _CLOSED_FOR_LONG if self.ends is None else self.ends - self.asked
        return Hold(
            reason=HoldReason.MAINTENANCE_WINDOW,
            message=self.message,
            ask_again_seconds=max(1.0, again.total_seconds()),
        )


def closed(windows: Iterable[MaintenanceWindow], named: Sequence[str], now: datetime) -> Closed | None:
    """Why no remediation may begin now for a check that names these windows; None: it may."""
    windows = list(windows)
    if not windows and not named:
        return None
    missing = [name for name in named if name not in {window.name for window in windows}]
    if missing:
        message = f"its check names the maintenance window {missing[0]}, which is not in the policy"
        return Closed(message, None, now)
    own = [window for window in windows if not window.only_named or window.name in named]
    blocking = tuple(window for window in own if window.remediation is WindowEffect.BLOCKED)
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    spans = _spans(blocking, day + (now - day) // _PART * _PART)
    before = bisect_right(spans, now, key=lambda span: span.start)
    if before and now < spans[before - 1].end:
        span = spans[before - 1]
        names = sorted(span.names)
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        block = f"the maintenance windows {', '.join(names[:MOST_NAMED])}{more} block"
        if len(names) == 1:
            block = f"the maintenance window {names[0]} blocks"
        until = f"{'at least ' if span.goes_on else ''}{stamp(span.end)}"
        return Closed(f"{block} remediation until {until}", span.end, now)
    allowing = [window for window in own if window.remediation is WindowEffect.ALLOWED]
    if not allowing or any(window.open_until(now) is not None for window in allowing):
        return None
    opens = {window.name: start for window in allowing if (start := window.opens(now)) is not None}
    if not opens:
        return Closed("no maintenance window that allows remediation opens again", None, now)
    name, start = min(opens.items(), key=lambda opening: opening[1])
    words = f"remediation is allowed from {stamp(start)}, when the maintenance window {name} opens"
    return Closed(words, start, now)
