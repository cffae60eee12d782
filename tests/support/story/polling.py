"""Polls a server with growing intervals, because each question takes as long as an act."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

PATIENCE_SECONDS = 60
FIRST_SECONDS, LONGEST_SECONDS, GROWTH = 0.1, 1.0, 1.5
Answer = TypeVar("Answer")


async def polled(ask: Callable[[], Awaitable[Answer | None]]) -> Answer:
    """Poll until the answer is not None; raises TimeoutError."""
    seconds = FIRST_SECONDS
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (answer := await ask()):
            await asyncio.sleep(seconds)
            seconds = min(GROWTH * seconds, LONGEST_SECONDS)
    return answer
