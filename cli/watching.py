"""A page that is drawn again every two seconds, until Ctrl-C, as much of it as the terminal has lines for.

It goes on while Temporal is away. However it ends, the terminal has its cursor again.
"""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.text import Text
from temporalio.service import RPCError

from cli.errors import is_interrupted
from cli.output import end_unheard
from cli.terminal import console
from runtime.retrying import one_sentence

HEADLINES = 1
"""Lines that stand above it."""
EVERY_SECONDS = 2.0
TERMINATED = 128 + signal.SIGTERM


class Fitting:
    """A page below a headline."""

    def __init__(self, body: RenderableType) -> None:
        """`body` is drawn as it is where it fits."""
        self._body = body

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines; the last one that fits says how many do not."""
        lines = console.render_lines(self._body, options.update(height=None), pad=False)
        room = console.height - HEADLINES
        shown = lines if len(lines) <= room else lines[: max(room - 1, 0)]
        for line in shown:
            yield from line
            yield Segment.line()
        if len(shown) < len(lines):
            yield Text(f"{len(lines) - len(shown)} more", style="dim")


Page = tuple[str, RenderableType]
"""A headline and what stands under it."""


async def watch(look: Callable[[], Awaitable[Page]]) -> None:
    """Draw what `look` sees for ever; the first look alone may raise RPCError."""
    end_unheard()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, sys.exit, TERMINATED)
    headline, body = await look()
    seen, problem = datetime.now(UTC), ""
    with Live(console=console(), auto_refresh=False) as live:
        while True:
            if is_interrupted():
                raise asyncio.CancelledError
            live.update(Group(head(headline, seen, problem), Fitting(body)), refresh=True)
            await asyncio.sleep(EVERY_SECONDS)
            try:
                headline, body = await look()
                seen, problem = datetime.now(UTC), ""
            except RPCError as error:
                problem = one_sentence(error)


def head(headline: str, seen: datetime, problem: str) -> Text:
    """What stands above a page that was `seen` then; `problem` is why there is none of now."""
    moment = f"{seen:%H:%M:%SZ}"
    if problem:
        return Text(f"{problem}; this is of {moment}", style="bold red")
    return Text(f"{moment}  {headline}", style="dim")
