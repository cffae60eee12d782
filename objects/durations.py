"""Parses durations as Kubernetes ("5m30s", "300s", "1.5h") and as people write them, within bounds.

The pattern is that of the NodeHealthCheck schema: durationpy alone would also accept signs, spaces and years.
A duration that matches but is too long is refused, with its value: Go keeps durations in 63 bits of
nanoseconds, and one overflow stops the machine-api-operator for every check. In our own documents a zero
needs no unit, and an error names the bounds.
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
"""Added to a deadline before the next look: the deadline is over strictly after it, and timers are no
finer."""


def parse_duration(text: object) -> timedelta:
    """The duration in `text`.

    Raises:
        ValueError: it is not a string, does not match PATTERN, or is longer than 292 years.

    """
    if not isinstance(text, str) or not re.fullmatch(PATTERN, text):
        raise ValueError("must be a duration such as 300s, 5m or 1h30m")
    try:
        duration: timedelta = durationpy.from_str(text)
    except (durationpy.DurationError, OverflowError) as error:
        raise ValueError("is longer than any clock can hold (292 years)") from error
    if duration > LONGEST:  # durationpy checks only each part
        raise ValueError("is longer than any clock can hold (292 years)")
    return duration


def parse_signed_duration(text: object) -> timedelta:
    """As `parse_duration`, with a leading minus allowed."""
    if isinstance(text, str) and text.startswith("-"):
        return -parse_duration(text[1:])
    return parse_duration(text)


def parse_go_duration(text: object) -> timedelta:
    """As `parse_duration`, in every form of Go: also "0" without a unit, "+5m" and ".5h"."""
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
"""A duration in our own documents: a zero needs no unit, as a number or as text."""


def within(shortest: timedelta, longest: timedelta) -> AfterValidator:
    """A validator that refuses durations outside of these bounds."""

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
    """`duration`, which is not negative, in the format of Go: "10m0s", "1h0m0s", "1.5s", "500ms"."""
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
    """The duration in units, without trailing zeros."""
    whole, rest = divmod(duration, unit)
    digits = len(str(unit // timedelta.resolution)) - 1
    return f"{whole}.{rest // timedelta.resolution:0{digits}d}".rstrip("0").rstrip(".")
