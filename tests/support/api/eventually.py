"""Wait for a condition, not for a time."""

import asyncio
from collections.abc import Callable


async def eventually(condition: Callable[[], object], within_seconds: float = 60) -> None:
    async with asyncio.timeout(within_seconds):
        while not condition():  # noqa: ASYNC110  the condition is about a server's memory, nothing signals it
            await asyncio.sleep(0.005)
