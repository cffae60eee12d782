"""StoredStatus: reads a status that the API server holds, which may be malformed.

The installed CRD decides how strict its schema is, and other clients may have written the status. A field of
another form than ours is ignored and overwritten.
"""

from collections.abc import Mapping
from typing import Any


def items(stored: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    """The objects in the list of that name; empty without such a list."""
    found = stored.get(field)
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list | tuple) else []


def string(entry: Mapping[str, Any], field: str) -> str:
    """The string of that name; "" without one."""
    found = entry.get(field)
    return found if isinstance(found, str) else ""


def stored_condition(stored: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    """The condition of that type; empty without one."""
    return next(
        (condition for condition in items(stored, "conditions") if string(condition, "type") == type_), {}
    )
