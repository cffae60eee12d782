"""Line: the texts before and after one wait of a scenario, and its time limit."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Line(Generic[T]):
    """The texts around one wait for a fact of type T."""

    before: str
    after: Callable[[T], str]
    failure: str
    """A sentence that the narrator completes with `within 30 s.`"""
    within: timedelta
    advice: str = ""
    """The likely cause of the failure and what to do, in whole sentences; "" if there is no likely one."""
