"""Durations as Kubernetes writes them ("5m30s", "300s", "1.5h").

The pattern is the one of the NodeHealthCheck schema. A duration that the pattern lets through but no clock
can hold is refused here, with its value: Go keeps durations in 63 bits of nanoseconds, and the reference goes
blind for every check when one overflows. So the sum is made in whole nanoseconds, exactly as Go makes it.
"""

import re
from datetime import timedelta
from fractions import Fraction
from typing import Annotated

from pydantic import PlainValidator

PATTERN = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
LONGEST_NANOSECONDS = 2**63 - 1

_PART = re.compile(r"([0-9.]+)([a-zµ]+)")
_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3600 * 1_000_000_000,
}


def parse_duration(text: object) -> timedelta:
    """The duration that `text` names.

    Raises:
        ValueError: it is no string, does not match PATTERN, or is longer than 292 years.

    """
    if not isinstance(text, str) or not re.fullmatch(PATTERN, text):
        raise ValueError("must be a duration such as 300s, 5m or 1h30m")
    nanoseconds = sum(int(Fraction(number) * _NANOSECONDS[unit]) for number, unit in _PART.findall(text))
    if nanoseconds > LONGEST_NANOSECONDS:
        raise ValueError("is longer than any clock can hold (292 years)")
    return timedelta(microseconds=nanoseconds // 1000)


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
