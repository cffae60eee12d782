"""TimeSlice: lets long work over many items yield to the event loop every few milliseconds.

A slice is measured by a clock and not by a count: one item may cost a thousand times as much as another. All
changes of one item belong between two calls of `yield_if_over`.
"""

import asyncio
import time
from collections.abc import Callable

LONGEST_SECONDS = 0.005


class TimeSlice:
    """Measures how long the work has run since it last yielded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()

    @property
    def is_over(self) -> bool:
        """True if the work should yield before its next item."""
        return self._clock() - self._began >= LONGEST_SECONDS

    async def yield_if_over(self) -> None:
        """If the slice is over, let other ready tasks run, and begin the next slice."""
        if self.is_over:
            await asyncio.sleep(0)
            self._began = self._clock()
