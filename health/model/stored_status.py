"""StoredStatus: reading a status that the API server holds, which may be anything where a schema is loose.

Whoever installed the CRD decided how strict its schema is, and others than us may have written the status.
What is not of the form that we write says nothing, and is overwritten.
"""

from collections.abc import Mapping
from typing import Any


def entries(stored: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    """The objects in the list of that name; none where there is no list."""
    found = stored.get(field)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []


def word(entry: Mapping[str, Any], field: str) -> str:
    """The text of that name; "" where there is none."""
    found = entry.get(field)
    return found if isinstance(found, str) else ""


def stored_condition(stored: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    """The condition of that type, empty if there is none."""
    return next((one for one in entries(stored, "conditions") if word(one, "type") == type_), {})
