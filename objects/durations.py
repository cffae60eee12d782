"""Durations as Kubernetes writes them ("5m30s", "300s", "1.5h").

The pattern is the one of the NodeHealthCheck schema: durationpy alone would also take signs, spaces and
years. A duration that the pattern lets through but no clock can hold is refused, with its value: Go keeps
durations in 63 bits of nanoseconds, and the machine-api-operator goes blind for every check when one
overflows.
"""

import re
from datetime import timedelta
from typing import Annotated

import durationpy
from pydantic import PlainValidator

from objects.bounds import LONGEST

PATTERN = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"


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


Duration = Annotated[timedelta, PlainValidator(parse_duration)]
SignedDuration = Annotated[timedelta, PlainValidator(parse_signed_duration)]


def in_words(duration: timedelta) -> str:
    """`duration` for people, in whole seconds: "1h5m", "4m59s", "3s"."""
    seconds = max(0, round(duration.total_seconds()))
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{value}{unit}" for value, unit in parts if value) or "0s"
