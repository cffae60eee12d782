"""FailFast: stops the validation of a collection at its first bad item, and limits it to 10,000 items.

pydantic keeps about 1 KB for each error in a collection: 2 MB of `[1,1,…]` in place of objects cost 1.4 GB
and seconds. Every model that reads text of other processes inherits this class, so that no new field is
forgotten; `tests/health/test_fail_fast.py` checks all of them.

OR_NONE annotates a field whose invalid values become None. For each error, pydantic turns the invalid value
into Python values, which cost 30 to 70 times the bytes of hostile JSON. No error is made here, so no value
either.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

MOST_ITEMS = 10_000
"""The limit of a list or mapping whose field sets no lower one."""
_COLLECTIONS = ("list", "tuple", "dict", "set", "frozenset")
_MODELS = ("model", "dataclass")


class FailFast:
    """A base of pydantic models and dataclasses; it has no fields."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401  pydantic defines this method
        """The schema of pydantic, with bounds for each of its own collections."""
        schema = handler(source)
        for part in collections_in(schema):
            part["fail_fast"] = True
            part.setdefault("max_length", MOST_ITEMS)
        return schema


def collections_in(schema: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  a schema is any tree of values
    """The schemas of the collections of a model, without those of the models in it."""
    waiting = [schema.get("schema")]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        if not isinstance(part, dict) or part.get("type") in _MODELS:
            continue
        if part.get("type") in _COLLECTIONS:
            yield part
        waiting += part.values()


class _OrNone:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401  pydantic defines this method
        return core_schema.with_default_schema(handler(source), default=None, on_error="default")


OR_NONE = _OrNone()
