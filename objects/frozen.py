"""Frozen: the base of every value that crosses a boundary (the API server, Temporal, the environment).

OpenEnum: an enum in a message whose reader may be older than its writer, or newer.

While a version is rolled out, and back, processes of two versions talk to each other. A word that only one of
them knows is kept as text: it fails no message, is shown, and is none of the words that decisions look for.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Self, TypeVar

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from objects.bounds import Bounded

OTHER = "Other"


class _Value(Bounded):
    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic does it, but a field that there is not raises TypeError.

        pydantic would make it an attribute that nobody reads: what should have changed stays, without a word.
        """
        if unknown := (update or {}).keys() - type(self).model_fields.keys():
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        copied = super().model_copy(update=update, deep=deep)
        for cached in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[cached]  # a cached property follows from the fields, which may be others
        return copied


class Frozen(_Value):
    """An immutable value; unknown fields are ignored, so that a newer writer breaks no older reader."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FrozenObject(_Value):
    """A part of a Kubernetes object, in the camelCase of its API; only what we decide by is kept."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


Word = TypeVar("Word", bound=StrEnum)

OpenEnum = Annotated[Word | str, Field(union_mode="left_to_right")]
"""`reason: OpenEnum[HoldReason]` is a HoldReason or text; compared by `is` with members, else by `==`."""


def is_known(word: str, words: Iterable[StrEnum]) -> bool:
    """Whether this version knows the word."""
    return word in frozenset(words)


def label(word: str, words: Iterable[StrEnum]) -> str:
    """The word as a label of a metric, which gets no more values than this version knows."""
    return word if is_known(word, words) else OTHER
