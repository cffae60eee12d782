"""Durations as Kubernetes writes them ("5m30s", "300s", "1.5h"), and as people write them, within bounds.

The pattern is the one of the NodeHealthCheck schema: durationpy alone would also take signs, spaces and
years. A duration that the pattern lets through but no clock can hold is refused, with its value: Go keeps
durations in 63 bits of nanoseconds, and the machine-api-operator goes blind for every check when one
overflows. In a document of ours a zero needs no unit, and an error names the bounds.
"""

import re
from datetime import timedelta
from typing import Annotated

import durationpy
from pydantic import AfterValidator, PlainValidator

from objects.bounds import LONGEST

PATTERN = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
_BARE_POINT = re.compile(r"(?<![0-9])\.")
_SECOND, _MILLISECOND = timedelta(seconds=1), timedelta(milliseconds=1)

JUST_AFTER = _MILLISECOND
"""How long after a deadline to look again: it is over strictly after it, and no timer is finer than this."""


def parse_duration(text: object) -> timedelta:
    """The duration that `text` names.

    Raises:
        ValueError: it is no string, does not match PATTERN, or is longer than 292 years.

    """
    if not isinstance(text, str) or not re.fullmatch(PATTERN, text):
        raise ValueError("must be a duration such as 300s, 5m or 1h30m")
    try:
        duration: timedelta = durationpy.from_str(text)
    except (durationpy.DurationError, OverflowError) as error:
        raise ValueError("is longer than any clock can hold (292 years)") from error
    if duration > LONGEST:  # durationpy looks at each part alone
        raise ValueError("is longer than any clock can hold (292 years)")
    return duration


def parse_signed_duration(text: object) -> timedelta:
    """As `parse_duration`, with a leading minus allowed.

    Raises:
        ValueError: as `parse_duration`.

    """
    if isinstance(text, str) and text.startswith("-"):
        return -parse_duration(text[1:])
    return parse_duration(text)


def parse_go_duration(text: object) -> timedelta:
    """As `parse_duration`, in every form that Go reads: "0" needs no unit, "+5m" and ".5h" are durations too.

    Raises:
        ValueError: as `parse_duration`; also where it is negative.

    """
    if text == "0":
        return timedelta()
    if isinstance(text, str):
        return parse_duration(_BARE_POINT.sub("0.", text.removeprefix("+")))
    return parse_duration(text)


def _parse_written(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    is_zero = value == 0 and not isinstance(value, bool)
    return parse_go_duration("0" if is_zero else value)


Duration = Annotated[timedelta, PlainValidator(parse_duration)]
GoDuration = Annotated[timedelta, PlainValidator(parse_go_duration)]
SignedDuration = Annotated[timedelta, PlainValidator(parse_signed_duration)]
WrittenDuration = Annotated[timedelta, PlainValidator(_parse_written)]
"""As a document of ours has it: a zero needs no unit, written as a number or as text."""


def within(shortest: timedelta, longest: timedelta) -> AfterValidator:
    """Refuses what is shorter or longer."""

    def check(duration: timedelta) -> timedelta:
        if shortest <= duration <= longest:
            return duration
        raise ValueError(f"must be from {in_words(shortest)} to {in_words(longest)}")

    return AfterValidator(check)


def in_words(duration: timedelta) -> str:
    """`duration` for people, in whole seconds: "1h5m", "4m59s", "3s"."""
    seconds = max(0, round(duration.total_seconds()))
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{value}{unit}" for value, unit in parts if value) or "0s"


def as_go(duration: timedelta) -> str:
    """`duration`, which is not negative, as Go writes it: "10m0s", "1h0m0s", "1.5s", "500ms"."""
    if timedelta() < duration < _MILLISECOND:
        return f"{duration // timedelta.resolution}µs"
    if timedelta() < duration < _SECOND:
        return f"{_decimal(duration, _MILLISECOND)}ms"
    minutes, rest = divmod(duration, timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, _SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _decimal(duration: timedelta, unit: timedelta) -> str:
    """How many units it has, without zeros at the end."""
    whole, rest = divmod(duration, unit)
    digits = len(str(unit // timedelta.resolution)) - 1
    return f"{whole}.{rest // timedelta.resolution:0{digits}d}".rstrip("0").rstrip(".")
