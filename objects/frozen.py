"""Frozen: the base of every value that crosses a boundary (the API server, Temporal, the environment).

OpenEnum: an enum in a message whose reader may be older than its writer, or newer.

While a version is rolled out, and back, processes of two versions talk to each other. A word that only one of
them knows is kept as text: it fails no message, is shown, and is none of the words that decisions look for.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from objects.bounds import Bounded

OTHER = "Other"


class Frozen(Bounded):
    """An immutable value; unknown fields are ignored, so that a newer writer breaks no older reader."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FrozenObject(Bounded):
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
