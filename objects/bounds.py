"""Bounds: times and numbers of seconds are brought within bounds where they come in.

The wire carries any year from 0 to 9999 and any float, and anybody may write them: one Lease with
`renewTime: 9999-12-31T23:59:59Z`, or an annotation with that time. Python's calendar ends there. An addition
beyond its end raises: that ends a detector, and fails the task of a workflow for ever.

So every model at a boundary is `Bounded`: what is further away than the bounds counts as the bound, which
means the same (long ago, or far ahead), and what is no number or has no time zone is refused. The alternative
is an addition that saturates; but additions stand at many places, and the one that is forgotten is found by
whoever writes such an object (ADR 17).

Two thousand years are left from LATEST to the end of the calendar. Nothing adds more: the longest duration
has 292 years, the longest sum is four of them (`health.runbook.remediating`).
"""

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, field_validator

from objects.fail_fast import FailFast

EARLIEST = datetime(1000, 1, 1, tzinfo=UTC)
"""Longer ago than any duration; an earlier year would not have the four digits of RFC 3339 everywhere."""
LATEST = datetime(8000, 1, 1, tzinfo=UTC)
LONGEST = timedelta(microseconds=(2**63 - 1) // 1000)
"""What Go, and so Kubernetes, can hold: 292 years."""


def bounded_time(time: datetime) -> datetime:
    """`time`, or the bound that it is beyond.

    Raises:
        ValueError: it has no time zone.

    """
    if time.tzinfo is None:
        raise ValueError("has no time zone")
    return max(EARLIEST, min(time, LATEST))


def bounded_seconds(seconds: float) -> float:
    """`seconds`, or the longest duration with its sign.

    Raises:
        ValueError: it is no number.

    """
    if math.isnan(seconds):
        raise ValueError("must be a number")
    longest = LONGEST.total_seconds()
    return max(-longest, min(seconds, longest))


Time = Annotated[AwareDatetime, AfterValidator(bounded_time)]
"""A time within bounds, for parts that are no `Bounded` model."""


class Bounded(FailFast, BaseModel):
    """A model whose times are within bounds, and whose floats, which are seconds, are finite."""

    @field_validator("*")
    @classmethod
    def _within_bounds(cls, value: object) -> object:
        if isinstance(value, datetime):
            return bounded_time(value)
        return bounded_seconds(value) if isinstance(value, float) else value
