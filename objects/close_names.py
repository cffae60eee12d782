"""Names for messages about an unknown name: those that resemble it, and the names of a document's fields."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel

MOST_NAMES = 3
LONGEST_NAME = 100
"""Characters of an unknown name that are compared: the time grows with the product of the lengths."""


def either(words: Iterable[str]) -> str:
    """The words for a sentence: a, b or c."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def meant(name: str, names: Iterable[str], prefix: str = "") -> str:
    """A hint with the closest names, for the end of a message; "" if none is close.

    All names begin with `prefix`, which is not compared.
    """
    bare = [name.removeprefix(prefix) for name in sorted(names)]
    close = get_close_matches(name.removeprefix(prefix)[:LONGEST_NAME], bare, MOST_NAMES)
    return f"; did you mean {either(f'{prefix}{name}' for name in close)}?" if close else ""


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
