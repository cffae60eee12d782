"""Narrator: prints what the demo waits for and what happened, live on a terminal, plain elsewhere.

Every line begins with the seconds since the start. Each `Line` limits its wait.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from rich.console import Console
from rich.text import Text

from devcluster.errors import DemoFailedError
from devcluster.progress import in_words

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


class Narrator:
    """Writes the lines of the demo to one console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()

    async def narrate(self, line: Line[T], awaited: Awaitable[T]) -> T:
        """Print the announcement, wait, print the result; raises DemoFailedError if the time is over."""
        self._print("•", "bold", line.before)
        with self._waiting(line.within):
            try:
                fact = await asyncio.wait_for(awaited, line.within.total_seconds())
            except TimeoutError as error:
                failure = f"{line.failure} within {in_words(line.within)}."
                raise DemoFailedError(f"{failure} {line.advice}".rstrip()) from error
        self._print("✔", "green", line.after(fact))
        return fact

    def show(self, heading: str, text: str) -> None:
        """Print an address or a command on a line of its own."""
        self._print("→", "cyan", f"{heading}: {text}")

    def remark(self, text: str) -> None:
        self._print("│", "dim", text, style="dim")

    def print_success(self, text: str) -> None:
        self._print("✔", "bold green", text, style="bold green")

    def print_failure(self, text: str) -> None:
        self._print("✘", "bold red", text, style="bold red")

    def _waiting(self, within: timedelta) -> AbstractContextManager[object]:
        if not self._console.is_terminal:
            return nullcontext()
        return self._console.status(f"waiting, at most {in_words(within)}", spinner="dots")

    def _print(self, sign: str, sign_style: str, text: str, style: str = "") -> None:
        clock = f"{time.monotonic() - self._began:6.1f} s "
        line = Text.assemble((clock, "dim"), (f" {sign} ", sign_style), (text, style))
        self._console.print(line, soft_wrap=True)
