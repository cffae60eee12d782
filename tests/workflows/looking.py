"""Looking: what only a server can say is asked ever more seldom, as each look costs as much as an act."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

PATIENCE_SECONDS = 60
FIRST_SECONDS, LONGEST_SECONDS, GROWTH = 0.1, 1.0, 1.5
Seen = TypeVar("Seen")


async def found(look: Callable[[], Awaitable[Seen | None]]) -> Seen:
    """What a look sees first that is something; raises TimeoutError."""
    seconds = FIRST_SECONDS
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (seen := await look()):
            await asyncio.sleep(seconds)
            seconds = min(GROWTH * seconds, LONGEST_SECONDS)
    return seen
