"""Redraws a page every two seconds until Ctrl-C, cut to the height of the terminal.

It continues while Temporal is down, and always restores the cursor of the terminal.

SIGTERM ends a command that draws on a terminal, also if the terminal takes no more output. A write to a
terminal that is not read blocks for ever: in the event loop, or in the thread of the live view, for which the
end of the view waits.
"""

import asyncio
import os
import signal
import sys
import termios
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from threading import Thread
from typing import NoReturn

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.text import Text
from temporalio.service import RPCError

from cli.shared.errors import is_interrupted
from cli.shared.output import end_unheard
from cli.shared.terminal import console
from runtime.problems import one_sentence

HEADLINES = 1
"""Lines above the page."""
EVERY_SECONDS = 2.0
TERMINATED = 128 + signal.SIGTERM
PATIENCE_SECONDS = 2.0
"""An orderly end restores the screen, and takes a tenth of a second."""


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


def end_at_sigterm(end: Callable[[], object]) -> None:
    """Call `end` in the running event loop at SIGTERM, and leave the process if it has not ended then."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    restore: Callable[[], object] | None = None
    with suppress(termios.error, OSError, ValueError):  # standard input is no terminal
        # Restoring the modes of the keyboard needs no write.
        keyboard = sys.stdin.fileno()
        restore = partial(termios.tcsetattr, keyboard, termios.TCSANOW, termios.tcgetattr(keyboard))
    leaving = Thread(target=_leave, args=[restore], daemon=True)
    # The handler of the event loop lets the kernel restart a write, and no Python code would run. asyncio
    # learns of the signal by its wake-up descriptor.
    signal.signal(signal.SIGTERM, lambda *_: None if leaving.is_alive() else leaving.start())


def _leave(restore: Callable[[], object] | None) -> None:
    time.sleep(PATIENCE_SECONDS)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})  # would stop a process in the background
    with suppress(termios.error):
        if restore is not None:
            restore()
    os._exit(TERMINATED)
