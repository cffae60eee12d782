"""Bounds times and numbers of seconds where they enter the process.

The API allows any year from 0 to 9999 and any float, and any client may write them: a Lease with `renewTime:
9999-12-31T23:59:59Z`, or an annotation with that time. Python's calendar ends there, and an addition beyond
its end raises: that would end a detector, and fail the task of a workflow for ever.

So every model at a boundary is `Bounded` (ADR 17): a value beyond a bound becomes the bound, which means the
same (long ago, or far ahead), and a value that is not a number or has no time zone is refused. LATEST leaves
two thousand years to the end of the calendar. The longest duration has 292 years, and the longest sum is four
of them (`health.runbook.incident`).
"""

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, field_validator

from objects.fail_fast import FailFast

EARLIEST = datetime(1500, 1, 1, tzinfo=UTC)
"""Longer ago than any duration, and than the longest sum before the begin of the calendar: a client may write
negative durations."""
LATEST = datetime(8000, 1, 1, tzinfo=UTC)
LONGEST = timedelta(microseconds=(2**63 - 1) // 1000)
"""The longest duration of Go, and so of Kubernetes: 292 years."""


def bounded_time(time: datetime) -> datetime:
    """`time`, or the bound that it exceeds.

    Raises:
        ValueError: it has no time zone.

    """
    if time.tzinfo is None:
        raise ValueError("has no time zone")
    return max(EARLIEST, min(time, LATEST))


def bounded_seconds(seconds: float) -> float:
    """`seconds`, or the longest duration with the same sign.

    Raises:
        ValueError: it is not a number.

    """
    if math.isnan(seconds):
        raise ValueError("must be a number")
    longest = LONGEST.total_seconds()
    return max(-longest, min(seconds, longest))


Time = Annotated[AwareDatetime, AfterValidator(bounded_time)]
"""A time within bounds, for fields outside of `Bounded` models."""


class Bounded(FailFast, BaseModel):
    """A model whose times are within bounds, and whose floats, which are seconds, are finite."""

    @field_validator("*")
    @classmethod
    def _within_bounds(cls, value: object) -> object:
        if isinstance(value, datetime):
            return bounded_time(value)
        return bounded_seconds(value) if isinstance(value, float) else value
