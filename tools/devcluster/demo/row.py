"""The rows of a scenario, which the player plays in their order.

Texts are format strings. They may name the constants of stage.py, what the stage knows, and as `it` the value
that the row waited for.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from devcluster.demo.stage import Stage

SOON = timedelta(seconds=30)
LATER = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class DemoStep:
    """One wait, and the texts before and after it."""

    before: str
    wait: Callable[[Stage], Awaitable[Any]]
    """Returns the value that `after` quotes as `it`."""
    after: str
    failure: str
    """A sentence that the narrator completes with `within 30 s.`"""
    within: timedelta = SOON
    advice: str = ""
    """The likely cause of the failure and what to do, in whole sentences."""


@dataclass(frozen=True)
class Do:
    """A change that the demo makes without a text."""

    act: Callable[[Stage], Awaitable[object]]


@dataclass(frozen=True)
class Show:
    """An address or a command to copy, which works while everything runs."""

    heading: str
    text: Callable[[Stage], str]


@dataclass(frozen=True)
class Success:
    """The last sentence; `elapsed` is the time since the first failure, in seconds."""

    text: str


Row = DemoStep | Do | Show | Success
