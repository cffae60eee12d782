"""Redraws a page every two seconds until Ctrl-C, cut to the height of the terminal.

It continues while Temporal is down, and always restores the cursor of the terminal.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import NoReturn

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.text import Text
from temporalio.service import RPCError

from cli.shared.errors import is_interrupted
from cli.shared.output import end_unheard
from cli.shared.terminal import console
from cli.shared.termination import TERMINATED, end_at_sigterm
from runtime.problems import one_sentence

HEADLINES = 1
"""Lines above the page."""
EVERY_SECONDS = 2.0


class Fitting:
    """A page below a headline, cut to the terminal."""

    def __init__(self, body: RenderableType) -> None:
        self._body = body

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines that fit; the last one counts the lines that do not."""
        lines = console.render_lines(self._body, options.update(height=None), pad=False)
        room = console.height - HEADLINES
        shown = lines if len(lines) <= room else lines[: max(room - 1, 0)]
        for line in shown:
            yield from line
            yield Segment.line()
        if len(shown) < len(lines):
            yield Text(f"{len(lines) - len(shown)} more", style="dim")


Page = tuple[str, RenderableType]
"""A headline and the content below it."""


async def watch(look: Callable[[], Awaitable[Page]]) -> NoReturn:
    """Draw the result of `look` until interrupted; only the first call may raise RPCError."""
    end_unheard()
    end_at_sigterm(partial(sys.exit, TERMINATED))
    headline, body = await look()
    looked_at, problem = datetime.now(UTC), ""
    with Live(console=console(), auto_refresh=False) as live:
        while True:
            if is_interrupted():
                raise asyncio.CancelledError
            live.update(Group(head(headline, looked_at, problem), Fitting(body)), refresh=True)
            await asyncio.sleep(EVERY_SECONDS)
            try:
                headline, body = await look()
                looked_at, problem = datetime.now(UTC), ""
            except RPCError as error:
                problem = one_sentence(error)


def head(headline: str, looked_at: datetime, problem: str) -> Text:
    """The headline of a page from `looked_at`; `problem` says why there is no newer one."""
    moment = f"{looked_at:%H:%M:%SZ}"
    if problem:
        return Text(f"{problem}; this is of {moment}", style="bold red")
    return Text(f"{moment}  {headline}", style="dim")
