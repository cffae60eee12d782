"""One line of the story: what is announced, what is said when it came, and how long it may take."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Line(Generic[T]):
    """The words around one wait for a fact of type T."""

    before: str
    after: Callable[[T], str]
    failure: str
    """A sentence that goes on with "within 30 s."."""
    within: timedelta
