"""Narrator: prints what the demo waits for and what happened, live on a terminal, plain elsewhere.

Every line begins with the seconds since the start.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import TypeVar

from rich.console import Console
from rich.text import Text
from temporalio.client import WorkflowQueryFailedError
from temporalio.service import RPCError

from devcluster.errors import DemoFailedError
from devcluster.progress import in_words
from kube.errors import KubernetesError

T = TypeVar("T")
SOON, LATER = timedelta(seconds=30), timedelta(seconds=60)
INTERVAL = timedelta(milliseconds=200)
LOG = logging.getLogger(__name__)


async def seen(look: Callable[[], Awaitable[T | None]]) -> T:
    """Poll `look` until it returns a value that is true; the value.

    A failed call counts as "not yet": servers of a new devcluster may not answer yet. The caller limits the
    wait.
    """
    while True:
        try:
            if value := await look():
                return value
        except (KubernetesError, RPCError, WorkflowQueryFailedError) as error:
            LOG.debug("looking again: %s", error)
        await asyncio.sleep(INTERVAL.total_seconds())


class Narrator:
    """Writes the lines of the demo to one console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()

    async def wait(  # noqa: PLR0913  the texts around a wait
        self,
        before: str,
        look: Callable[[], Awaitable[T | None]],
        after: Callable[[T], str],
        *,
        failure: str,
        within: timedelta = SOON,
        advice: str = "",
    ) -> T:
        """Print `before`, poll `look` as `seen` does, and print `after` of its value.

        Raises DemoFailedError if the time is over: `failure` is a sentence without its end, `within 30 s.`;
        `advice` has the likely cause and what to do, in whole sentences.
        """
        self._print("•", "bold", before)
        with self._waiting(within):
            try:
                value = await asyncio.wait_for(seen(look), within.total_seconds())
            except TimeoutError as error:
                raise DemoFailedError(f"{failure} within {in_words(within)}. {advice}".rstrip()) from error
        self._print("✔", "green", after(value))
        return value

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
