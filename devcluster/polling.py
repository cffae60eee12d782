"""Wait until something is true: ask again and again up to a deadline, never just sleep."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from devcluster.errors import NotReadyError

INTERVAL = timedelta(milliseconds=100)


async def until(
    true: Callable[[], Awaitable[bool]], *, within: timedelta, otherwise: str, every: timedelta = INTERVAL
) -> None:
    """Return as soon as `true` says so; it is asked again `every` so often.

    Raises NotReadyError with the sentence `otherwise` when that takes longer than `within`.
    """
    deadline = time.monotonic() + within.total_seconds()
    while not await true():
        if time.monotonic() > deadline:
            raise NotReadyError(otherwise)
        await asyncio.sleep(every.total_seconds())
