"""Limits of requests: RateLimiter, a token bucket that all its callers share, and `bounded` concurrency."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class RateLimiter:
    """Allows a burst, and after it a steady rate; `clock` returns seconds of a steady clock."""

    def __init__(self, burst: int, per_second: float, clock: Callable[[], float]) -> None:
        self._burst = burst
        self._interval = 1 / per_second
        self._clock = clock
        self._next = clock() - burst * self._interval
        """When the token after those taken so far would be due at the steady rate."""

    async def acquire(self) -> None:
        """Take a token, and wait until it is due."""
        wait = self.reserve()
        if wait > 0:
            await asyncio.sleep(wait)

    def reserve(self) -> float:
        """Take a token; returns the seconds until it is due."""
        now = self._clock()
        self._next = self._after(now)
        return max(0.0, self._next - now)

    def allow(self) -> bool:
        """Take a token if one is due now; otherwise return False, and take none."""
        now = self._clock()
        after = self._after(now)
        if after > now:
            return False
        self._next = after
        return True

    def _after(self, now: float) -> float:
        # Unused tokens are kept for a burst, and no more.
        return max(self._next, now - self._burst * self._interval) + self._interval


async def bounded(
    at_once: int, do: Callable[[Item], Awaitable[Answer]], items: Iterable[Item]
) -> tuple[Answer, ...]:
    """The results of `do` for all items, in their order; at most `at_once` run concurrently."""
    room = asyncio.Semaphore(at_once)

    async def in_turn(item: Item) -> Answer:
        async with room:
            return await do(item)

    return tuple(await asyncio.gather(*map(in_turn, items)))
