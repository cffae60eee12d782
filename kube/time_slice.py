"""TimeSlice: work over many items yields to the event loop every few milliseconds.

The slice is measured by a clock and not by a count: one item may cost a thousand times as much as another.
Everything that one item changes belongs between two calls of `yield_if_over`.
"""

import asyncio
import time
from collections.abc import Callable

LONGEST_SECONDS = 0.005


class TimeSlice:
    """How long the work has gone on since it yielded last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()

    @property
    def is_over(self) -> bool:
        """Whether the work is to yield before its next item."""
        return self._clock() - self._began >= LONGEST_SECONDS

    async def yield_if_over(self) -> None:
        """Let all other tasks run that are ready, if the slice is over, and begin the next slice."""
        if self.is_over:
            await asyncio.sleep(0)
            self._began = self._clock()
