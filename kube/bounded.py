"""Bounded: the same is done to many, so many at once that nobody else is crowded out of a server."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


async def bounded(
    at_once: int, do: Callable[[Item], Awaitable[Answer]], items: Iterable[Item]
) -> tuple[Answer, ...]:
    """What `do` answers for each, in their order."""
    room = asyncio.Semaphore(at_once)

    async def in_turn(item: Item) -> Answer:
        async with room:
            return await do(item)

    return tuple(await asyncio.gather(*map(in_turn, items)))
