"""Runs an operation on many items, with limited concurrency."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


async def bounded(
    at_once: int, do: Callable[[Item], Awaitable[Answer]], items: Iterable[Item]
) -> tuple[Answer, ...]:
    """The results of `do` for all items, in their order; at most `at_once` run concurrently."""
    room = asyncio.Semaphore(at_once)

    async def in_turn(item: Item) -> Answer:
        async with room:
            return await do(item)

    return tuple(await asyncio.gather(*map(in_turn, items)))
