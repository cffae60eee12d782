"""Watching: a picture that is drawn again every two seconds, until Ctrl-C, also while Temporal is away.

However it ends, the terminal has its cursor again.
"""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text
from temporalio.service import RPCError

from cli.console import console
from cli.fitting import Fitting
from cli.output import end_unheard
from runtime.insisting import one_sentence

EVERY_SECONDS = 2.0
TERMINATED = 128 + signal.SIGTERM

Picture = tuple[str, RenderableType]
"""A headline and what stands under it."""


async def watch(look: Callable[[], Awaitable[Picture]]) -> None:
    """Draw what `look` sees for ever; the first look alone may raise RPCError."""
    end_unheard()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, sys.exit, TERMINATED)
    headline, body = await look()
    seen, problem = datetime.now(UTC), ""
    with Live(console=console(), auto_refresh=False) as live:
        while True:
            _end_if_told_to()
            live.update(Group(head(headline, seen, problem), Fitting(body)), refresh=True)
            await asyncio.sleep(EVERY_SECONDS)
            try:
                headline, body = await look()
                seen, problem = datetime.now(UTC), ""
            except RPCError as error:
                problem = one_sentence(error)


def head(headline: str, seen: datetime, problem: str) -> Text:
    """What stands above a picture that was `seen` then; `problem` is why there is none of now."""
    moment = f"{seen:%H:%M:%SZ}"
    if problem:
        return Text(f"{problem}; this is of {moment}", style="bold red")
    return Text(f"{moment}  {headline}", style="dim")


def _end_if_told_to() -> None:
    """Obey a signal that came during a call to Temporal, which fails then as if Temporal were away.

    Raises:
        CancelledError: there was one.

    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
