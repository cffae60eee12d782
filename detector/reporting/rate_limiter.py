"""RateLimiter: how fast something may go on: a burst at once, what is more at a steady rate."""

import asyncio
from collections.abc import Callable


class RateLimiter:
    """Turns to take, shared by all who ask."""

    def __init__(self, burst: int, per_second: float, clock: Callable[[], float]) -> None:
        self._burst = burst
        self._interval = 1 / per_second
        self._clock = clock
        self._next = clock() - burst * self._interval
        """When the first turn after those taken so far would be due at the steady rate."""

    async def turn(self) -> None:
        """Return when it is the caller's turn."""
        wait = self.take()
        if wait > 0:
            await asyncio.sleep(wait)

    def take(self) -> float:
        """Take a turn; answers in how many seconds it is due."""
        now = self._clock()
        # What was not used is kept for a burst, and no more.
        self._next = max(self._next, now - self._burst * self._interval) + self._interval
        return max(0.0, self._next - now)
