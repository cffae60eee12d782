"""Bounds times, numbers of seconds and collections where they enter the process.

The API allows any year from 0 to 9999 and any float, and any client may write them: a Lease with `renewTime:
9999-12-31T23:59:59Z`, or an annotation with that time. Python's calendar ends there, and an addition beyond
its end raises: that would end a detector, and fail the task of a workflow for ever.

So every model at a boundary is `Bounded` (ADR 17): a value beyond a bound becomes the bound, which means the
same (long ago, or far ahead), and a value that is not a number or has no time zone is refused. LATEST leaves
two thousand years to the end of the calendar. The longest duration has 292 years, and the longest sum is four
of them (`health.runbook.incident`).

The validation of a collection stops at its first bad item (FailFast), and a collection has at most 10,000
items: pydantic keeps about 1 KB for each error, so 2 MB of `[1,1,…]` in place of objects cost 1.4 GB and
seconds. Every model that reads text of other processes inherits this.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

MOST_ITEMS = 10_000
"""The limit of a list or mapping whose field sets no lower one."""
_COLLECTIONS = ("list", "tuple", "dict", "set", "frozenset")
_MODELS = ("model", "dataclass")


class FailFast:
    """A base of pydantic models and dataclasses, without fields: collections stop at their first bad item."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401  pydantic defines this method
        """The schema of pydantic, with bounds for each of its own collections."""
        schema = handler(source)
        for part in collections_in(schema):
            part["fail_fast"] = True
            part.setdefault("max_length", MOST_ITEMS)
        return schema


def _parts(schema: Any, types: tuple[str, ...]) -> Iterator[dict[str, Any]]:  # noqa: ANN401  a schema is any tree of values
    """The parts of these types in the schema of a model, without those of the models in it."""
    waiting = [schema.get("schema")]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        if not isinstance(part, dict) or part.get("type") in _MODELS:
            continue
        waiting += part.values()
        if part.get("type") in types:
            yield part


def collections_in(schema: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  as above
    """The schemas of the collections of a model, without those of the models in it."""
    return _parts(schema, _COLLECTIONS)


class _OrNone:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401  pydantic defines this method
        return core_schema.with_default_schema(handler(source), default=None, on_error="default")


OR_NONE = _OrNone()
"""Annotates a field whose invalid values become None. For each error, pydantic turns the invalid value into
Python values, which cost 30 to 70 times the bytes of hostile JSON. Here it makes neither."""


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


_BOUNDS: Mapping[str, Callable[[Any], object]] = {"datetime": bounded_time, "float": bounded_seconds}
"""By type of schema."""

Time = Annotated[AwareDatetime, AfterValidator(bounded_time)]
"""A time within bounds, for fields outside of `Bounded` models."""


class Bounded(FailFast, BaseModel):
    """A model whose times are within bounds, and whose floats, which are seconds, are finite."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401  pydantic defines this method
        """The schema with a bound for each time and float; a validator of all fields would cost more."""
        model = schema = super().__get_pydantic_core_schema__(source, handler)
        while model["type"] not in _MODELS and "schema" in model:  # a validator of the whole model
            model = model["schema"]
        for part in _parts(model, tuple(_BOUNDS)):
            unbounded: Any = dict(part)
            bounded = core_schema.no_info_after_validator_function(_BOUNDS[unbounded["type"]], unbounded)
            part.clear()
            part.update(bounded)
        return schema
