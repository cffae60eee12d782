"""Durations of a document that people write, within bounds, which an error names.

A zero needs no unit, written as a number or as text.
"""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, PlainValidator

from objects.durations import in_words, parse_go_duration


def within(shortest: timedelta, longest: timedelta) -> AfterValidator:
    """Refuses what is shorter or longer."""

    def check(duration: timedelta) -> timedelta:
        if shortest <= duration <= longest:
            return duration
        raise ValueError(f"must be from {in_words(shortest)} to {in_words(longest)}")

    return AfterValidator(check)


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    is_zero = value == 0 and not isinstance(value, bool)
    return parse_go_duration("0" if is_zero else value)


WrittenDuration = Annotated[timedelta, PlainValidator(_duration)]
