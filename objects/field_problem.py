"""FieldProblem: the first error in a document, in plain words, with the field and its value.

Every error of pydantic that people read is put into words here, with a hint for an unknown name. Other people
may have written the document, so each part has a bounded length and only printable characters.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from objects.short_text import cut_to_length

LONGEST_PROBLEM = 500
"""Characters of the words, because the problem goes into a condition and an Event."""
LONGEST_FIELD = 256
LONGEST_VALUE = 200
_KEY = "[key]"
"""The last part of pydantic's location of a bad key; the part before it is the key."""
_A_TIME = "must be a time with its zone, such as 2026-01-31T12:00:00Z"
_A_DURATION = "must be a duration"
_AN_INTEGER = "must be an integer"
_A_NUMBER = "must be a number"
_A_BOOLEAN = "must be true or false"
_A_LIST = "must be a list"
_A_MAPPING = "must be a mapping"
_WORDS: Mapping[str, str] = {
    "missing": "is missing",
    "bool_type": _A_BOOLEAN,
    "bool_parsing": _A_BOOLEAN,
    "int_type": _AN_INTEGER,
    "int_parsing": _AN_INTEGER,
    "int_parsing_size": _AN_INTEGER,
    "int_from_float": _AN_INTEGER,
    "float_type": _A_NUMBER,
    "float_parsing": _A_NUMBER,
    "finite_number": _A_NUMBER,
    "string_type": "must be text",
    "list_type": _A_LIST,
    "tuple_type": _A_LIST,
    "dict_type": _A_MAPPING,
    "mapping_type": _A_MAPPING,
    "model_type": _A_MAPPING,
    "model_attributes_type": _A_MAPPING,
    "dataclass_type": _A_MAPPING,
    "datetime_type": _A_TIME,
    "datetime_parsing": _A_TIME,
    "datetime_from_date_parsing": _A_TIME,
    "datetime_object_invalid": _A_TIME,
    "timezone_aware": _A_TIME,
    "time_delta_type": _A_DURATION,
    "time_delta_parsing": _A_DURATION,
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} {items}",
    "too_long": "must have at most {max_length} {items}",
    "extra_forbidden": "there is no such field",
}
"""By the type of pydantic's error, without the names of classes and types of Python."""
_OF_TEXT = {"too_short": "string_too_short", "too_long": "string_too_long"}
_OUR_SENTENCES = frozenset({"value_error", "assertion_error"})
"""The types of errors whose message a validator of ours wrote, beside types of our own."""
_OF_PYDANTIC: frozenset[str] = frozenset(get_args(ErrorType)) - _OUR_SENTENCES
_UNNAMED = "is not valid"
_JSON_ERROR = re.compile(r".* at line (?P<line>\d+) column (?P<column>\d+)", re.DOTALL)
MOST_NAMES = 3
"""The most names that resemble an unknown one."""
LONGEST_NAME = 100
"""Characters of an unknown name that are compared: the time grows with the product of the lengths."""
_SAY_NO_VALUE = frozenset({"missing", "extra_forbidden"})


class SaysItsValueError(ValueError):
    """A problem that already contains the value, which is then not repeated."""


@dataclass(frozen=True, kw_only=True)
class FieldProblem:
    """One field of the document, the problem there, and the value that was found."""

    field: str
    """Names with dots between them, and indexes in brackets; "": the whole document."""
    words: str
    found: str | None = None
    """The value, cut to a bound; None if it is missing, secret, or if the words already say it."""
    hint: str | None = None
    """The end of the sentence, behind the value."""

    @classmethod
    def of(cls, error: ValidationError, longest_value: int = LONGEST_VALUE) -> Self:
        """The first problem; `longest_value` is in characters, and 0 does not even read the value."""
        details = error.errors(include_url=False, include_input=longest_value > 0)[0]
        return cls.of_details(details, longest_value)

    @classmethod
    def of_details(cls, details: ErrorDetails, longest_value: int = LONGEST_VALUE) -> Self:
        is_key = details["loc"][-1:] == (_KEY,)
        location = details["loc"][:-2] if is_key else details["loc"]
        says_its_value = details["type"] in _SAY_NO_VALUE or isinstance(
            details.get("ctx", {}).get("error"), SaysItsValueError
        )
        is_shown = longest_value and not is_key and not says_its_value
        found = quoted(details.get("input"), longest_value) if is_shown else None
        return cls(field=dotted(location), words=cut_to_length(_words(details), LONGEST_PROBLEM), found=found)

    @property
    def sentence(self) -> str:
        """The problem, the value and the hint, without the field."""
        found = f" (found {self.found})" if self.found else ""
        return f"{self.words}{found}{self.hint or ''}"

    def __str__(self) -> str:
        return f"{self.field}: {self.sentence}" if self.field else self.sentence


def dotted(location: tuple[int | str, ...]) -> str:
    """The path of a field as in the documents of Kubernetes, cut to a bound: `spec.steps[0].order`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in location)
    return cut_to_length("".join(parts).removeprefix("."), LONGEST_FIELD)


def quoted(value: object, longest: int = LONGEST_VALUE) -> str:
    """The value for a message, cut to about `longest` characters, all of them printable."""
    if isinstance(value, str):
        return cut_to_length(repr(cut_to_length(value, longest)), 2 * longest)
    return cut_to_length(_json(value, longest), longest)


def unforeseen(error: BaseException | None) -> str:
    """An error that no code expects, on one line for people; an object that does not parse in plain words."""
    if isinstance(error, ValidationError):
        return f"an object cannot be read: {FieldProblem.of(error)}"
    return " ".join(f"{type(error).__name__}: {error}".split())


def _words(details: ErrorDetails) -> str:
    kind = details["type"]
    context = details.get("ctx", {})
    if isinstance(details.get("input"), str):  # behind a validator of ours, a short text is any short value
        kind = _OF_TEXT.get(kind, kind)
    if kind == "json_invalid":
        return json_problem(str(context["error"]))
    if kind in _WORDS:
        is_one = 1 in (context.get("min_length"), context.get("max_length"))
        bounds = {  # without the `.0` of a whole number
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in context.items()
        }
        return _WORDS[kind].format_map({"items": "item" if is_one else "items", **bounds})
    return _UNNAMED if kind in _OF_PYDANTIC else _printable(details["msg"].removeprefix("Value error, "))


def json_problem(error: str) -> str:
    """The words for an error of pydantic's JSON parser, without the names of its parts."""
    found = _JSON_ERROR.fullmatch(error)
    place = f" at line {found['line']}, column {found['column']}" if found else ""
    if error.startswith("recursion limit exceeded"):
        return f"it is nested too deeply{place}"
    return f"it is no JSON: it ends too early{place}" if error.startswith("EOF") else f"it is no JSON{place}"


def _printable(text: str) -> str:
    return "".join(
        letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[: LONGEST_PROBLEM + 1]
    )


def _json(value: object, longest: int) -> str:
    """The beginning of its JSON: a huge or deep value is not encoded to its end."""
    text = ""
    for part in json.JSONEncoder(default=str, skipkeys=True).iterencode(value):
        text += part
        if len(text) > longest:
            break
    return text


def either(words: Iterable[str]) -> str:
    """The words for a sentence: a, b or c."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def meant(name: str, names: Iterable[str], prefix: str = "") -> str | None:
    """A hint with the closest names, for the end of a message; None if none is close.

    All names begin with `prefix`, which is not compared.
    """
    bare = [name.removeprefix(prefix) for name in sorted(names)]
    close = get_close_matches(name.removeprefix(prefix)[:LONGEST_NAME], bare, MOST_NAMES)
    return f"; did you mean {either(f'{prefix}{name}' for name in close)}?" if close else None


def names_beside(document: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """The names that a document may write at the place of this field; [] if unknown."""
    models = [document]
    for part in location[:-1]:
        if isinstance(part, str):
            models = [model for one in models for model in _models_at(one, part)]
    return sorted({_written(name, one) for one in models for name in one.model_fields})


def _models_at(model: type[BaseModel], part: str) -> list[type[BaseModel]]:
    return [
        found
        for name, field in model.model_fields.items()
        if _written(name, model) == part
        for found in _models_in(field.annotation)
    ]


def _models_in(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401  any annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models_in(part)]


def _written(name: str, model: type[BaseModel]) -> str:
    return model.model_fields[name].alias or name
