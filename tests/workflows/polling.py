"""Polling: what only a server can say is asked ever more seldom, as each question costs as much as an act."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

PATIENCE_SECONDS = 60
FIRST_SECONDS, LONGEST_SECONDS, GROWTH = 0.1, 1.0, 1.5
Answer = TypeVar("Answer")


async def polled(ask: Callable[[], Awaitable[Answer | None]]) -> Answer:
    """The first answer that is something; raises TimeoutError."""
    seconds = FIRST_SECONDS
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (answer := await ask()):
            await asyncio.sleep(seconds)
            seconds = min(GROWTH * seconds, LONGEST_SECONDS)
    return answer
