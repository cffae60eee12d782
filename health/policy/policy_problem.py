"""Describes the first problem of a policy in plain words, with field and value."""

import json
from collections.abc import Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from health.model.invalid_check import SaysItsValueError, cut, problem_of

_KEY = "[key]"
"""The last part of pydantic's location of a bad key; the part before it is the key."""
_WORDS: Mapping[str, str] = {
    "missing": "is missing",
    "bool_type": "must be true or false",
    "int_type": "must be an integer",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "mapping_type": "must be a mapping",
    "model_type": "must be a mapping",
    "enum": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} item",
    "too_long": "must have at most {max_length} items",
    "extra_forbidden": "there is no such field",
}
"""By the type of pydantic's error, without the names of classes and types of Python."""
_SAY_NO_VALUE = frozenset({"missing", "extra_forbidden"})


def policy_problem(error: ValidationError) -> str:
    """Field, problem and value of the first error."""
    details = error.errors(include_url=False)[0]
    field = problem_of(details).field
    if details["loc"][-1:] == (_KEY,):
        field = problem_of({**details, "loc": details["loc"][:-2]}).field
    words = _WORDS.get(details["type"], details["msg"].removeprefix("Value error, "))
    problem = words.format_map(details.get("ctx", {})) if details["type"] in _WORDS else words
    return f"{field}: {cut(problem)}{_found(details)}"


def _found(details: ErrorDetails) -> str:
    is_said = isinstance(details.get("ctx", {}).get("error"), SaysItsValueError)
    if is_said or details["type"] in _SAY_NO_VALUE or details["loc"][-1:] == (_KEY,):
        return ""
    value = details["input"]
    shown = repr(cut(value)) if isinstance(value, str) else cut(json.dumps(value, default=str))
    return f" (found {shown})"
