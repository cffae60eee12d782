"""Formats durations for people, at most two units ("3d4h", "1h5m", "9s")."""

import re
from datetime import datetime, timedelta

from objects.durations import parse_duration

_DAYS = re.compile(r"([0-9]{1,5})d")
_STAMP = re.compile(r"(,? (?:asked at|since|at) )?(?<!=)(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\dZ)", re.ASCII)
"""A time in words, with its preposition; the value of an annotation that is to be copied is none."""
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def short(duration: timedelta) -> str:
    """`duration` in whole seconds, cut to its two largest units."""
    rest = max(0, int(duration.total_seconds()))
    counts: list[str] = []
    for unit, seconds in _UNITS:
        count, rest = divmod(rest, seconds)
        if count or counts:
            counts.append(f"{count}{unit}" if count else "")
    return "".join(counts[:2]) or "0s"


def ago(when: datetime, now: datetime) -> str:
    """A time, followed by its age at `now`."""
    return f"{when:%Y-%m-%d %H:%M:%SZ} ({short(now - when)} ago)"


def in_time(when: datetime, now: datetime) -> str:
    """A time after `now`, preceded by how long that is."""
    return f"in {short(max(timedelta(), when - now))} ({when:%Y-%m-%d %H:%M:%SZ})"


def beside_time(text: str, when: datetime) -> str:
    """`text` for a row that begins with `when`: without the same time, and without the same day."""

    def shortened(found: re.Match[str]) -> str:
        before, day, time = found[1] or "", found[2], found[3]
        if day != f"{when:%Y-%m-%d}":
            return found[0]
        return "" if before and time == f"{when:%H:%M:%SZ}" else f"{before}{time}"

    return _STAMP.sub(shortened, text)


def with_short_times(text: str, now: datetime) -> str:
    """`text` for a narrow column: times of today (UTC) without the day, others without the year."""

    def shortened(found: re.Match[str]) -> str:
        day = "" if found[2] == f"{now:%Y-%m-%d}" else f"{found[2][5:]} "
        return f"{found[1] or ''}{day}{found[3][:5]}Z"

    return _STAMP.sub(shortened, text)


def parse_days(text: str) -> timedelta:
    """Parse a number of days such as "30d", or a Go duration, which has no unit for days.

    Raises:
        ValueError: the text is neither.

    """
    days = _DAYS.fullmatch(text)
    return timedelta(days=int(days[1])) if days else parse_duration(text)
