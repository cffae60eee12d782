"""Polls a condition until it is true or the time is over."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from devcluster.errors import NotReadyError

INTERVAL = timedelta(milliseconds=100)


async def until(
    true: Callable[[], Awaitable[bool]], *, within: timedelta, otherwise: str, every: timedelta = INTERVAL
) -> None:
    """Return as soon as `true` returns True; it is called `every` so often.

    Raises NotReadyError with the sentence `otherwise` after `within`.
    """
    deadline = time.monotonic() + within.total_seconds()
    while not await true():
        if time.monotonic() > deadline:
            raise NotReadyError(otherwise)
        await asyncio.sleep(every.total_seconds())
