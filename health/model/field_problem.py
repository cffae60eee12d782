"""FieldProblem: the first error in a document that people write, in plain words, with field and value."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from health.model.invalid_check import LONGEST_PROBLEM, SaysItsValueError, cut, problem_of
from objects.short_text import cut_to_length

_KEY = "[key]"
"""The last part of pydantic's location of a bad key; the part before it is the key."""
_A_TIME = "must be a time with its zone, such as 2026-01-31T12:00:00Z"
_A_NUMBER = "must be a number"
_A_BOOLEAN = "must be true or false"
_WORDS: Mapping[str, str] = {
    "missing": "is missing",
    "json_invalid": "is no JSON: {error}",
    "bool_type": _A_BOOLEAN,
    "bool_parsing": _A_BOOLEAN,
    "int_type": "must be an integer",
    "float_type": _A_NUMBER,
    "float_parsing": _A_NUMBER,
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "mapping_type": "must be a mapping",
    "model_type": "must be a mapping",
    "datetime_type": _A_TIME,
    "datetime_parsing": _A_TIME,
    "datetime_from_date_parsing": _A_TIME,
    "datetime_object_invalid": _A_TIME,
    "timezone_aware": _A_TIME,
    "enum": "must be {expected}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} item",
    "too_long": "must have at most {max_length} items",
    "extra_forbidden": "there is no such field",
}
"""By the type of pydantic's error, without the names of classes and types of Python."""
_SAY_NO_VALUE = frozenset({"missing", "extra_forbidden"})


@dataclass(frozen=True, kw_only=True)
class FieldProblem:
    """One field of the document, the problem there, and the value that was found."""

    field: str
    """ "": the whole document."""
    words: str
    found: str
    """The value, cut to a bound; "" if it is missing, or if the words already say it."""

    @classmethod
    def of(cls, error: ValidationError, longest_value: int = LONGEST_PROBLEM) -> Self:
        """The first problem; `longest_value` is in characters."""
        details = error.errors(include_url=False)[0]
        field = problem_of(details).field
        if details["loc"][-1:] == (_KEY,):
            field = problem_of({**details, "loc": details["loc"][:-2]}).field
        words = _WORDS.get(details["type"], details["msg"].removeprefix("Value error, "))
        bounds = {name: _shown(value) for name, value in details.get("ctx", {}).items()}
        problem = words.format_map(bounds) if details["type"] in _WORDS else words
        return cls(field=field, words=cut(problem), found=_found(details, longest_value))

    @property
    def sentence(self) -> str:
        """The problem and the value, without the field."""
        return f"{self.words} (found {self.found})" if self.found else self.words

    def __str__(self) -> str:
        return f"{self.field}: {self.sentence}" if self.field else self.sentence


def _shown(bound: object) -> object:
    """The bound, without the `.0` of a whole number."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _found(details: ErrorDetails, longest: int) -> str:
    is_said = isinstance(details.get("ctx", {}).get("error"), SaysItsValueError)
    if is_said or details["type"] in _SAY_NO_VALUE or details["loc"][-1:] == (_KEY,):
        return ""
    return quoted(details["input"], longest)


def quoted(value: object, longest: int) -> str:
    """The value for a message, cut to about `longest` characters."""
    if isinstance(value, str):
        return repr(cut_to_length(value, longest))
    return cut_to_length(json.dumps(value, default=str), longest)
