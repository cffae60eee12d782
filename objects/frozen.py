"""Frozen: the base of every value that crosses a boundary (the API server, Temporal, the environment).

OpenEnum: an enum in a message whose reader may be older or newer than its writer.

During a roll-out or roll-back, processes of two versions talk to each other. A word that only one of them
knows is kept as text: the message stays valid, the word is shown, and no decision matches it.
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
        """As in pydantic, but an unknown field raises TypeError.

        pydantic would add it as an attribute without effect, and the field that was meant would silently stay
        the same.
        """
        if unknown := (update or {}).keys() - type(self).model_fields.keys():
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        copied = super().model_copy(update=update, deep=deep)
        for cached in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[cached]  # a cached property follows from the fields, which may be others
        return copied


class Frozen(_Value):
    """An immutable value; unknown fields are ignored, so that an older reader accepts a newer writer."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FrozenObject(_Value):
    """A part of a Kubernetes object, with the camelCase names of its API; it has only the fields we need."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


Word = TypeVar("Word", bound=StrEnum)

OpenEnum = Annotated[Word | str, Field(union_mode="left_to_right")]
"""`reason: OpenEnum[HoldReason]` is a HoldReason or text; compare it by `is` with members, else by `==`."""


def is_known(word: str, words: Iterable[StrEnum]) -> bool:
    """True if this version knows the word."""
    return word in frozenset(words)


def label(word: str, words: Iterable[StrEnum]) -> str:
    """The word as a label of a metric, limited to the words that this version knows."""
    return word if is_known(word, words) else OTHER
