"""Leadership: whether this process leads now, by a monotonic clock.

The election extends it. Other parts read it, and need not know the election.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from kube.server_clock import monotonic_clock


class Leadership:
    """The leadership of one process; it ends by itself at its deadline."""

    def __init__(self, clock: Callable[[], float] = monotonic_clock) -> None:
        self.clock = clock
        self._until = clock()
        self._led_until: datetime | None = None

    def is_leader(self) -> bool:
        """True if this process leads at this very moment, even if the event loop was blocked until now."""
        return self.clock() < self._until

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; zero or less for a process that does not lead."""
        return self._until - self.clock()

    def extend(self, until: float) -> None:
        """Lead until this time of the clock; a time that is over ends the leadership."""
        self._until = until

    def end(self) -> None:
        self._until = self.clock()

    def led_until(self) -> datetime | None:
        """When the previous leader last renewed, by its own clock; None without a Lease."""
        return self._led_until

    def note_previous(self, led_until: datetime | None) -> None:
        """Note the last renewal of the previous leader."""
        self._led_until = led_until


class LeaderTerm:
    """The present or the last term of one process, from the callbacks of the election."""

    def __init__(self, leadership: Leadership, now: Callable[[], datetime]) -> None:
        self._leadership = leadership
        self._now = now
        self._began = now()
        self._leads = asyncio.Event()
        self._is_over = asyncio.Event()

    def begin(self) -> None:
        self._began = self._now()
        self._is_over.clear()
        self._leads.set()

    def end(self) -> None:
        self._leads.clear()
        self._is_over.set()

    def since(self) -> datetime | None:
        """When this process became the leader; None for a standby."""
        return self._began if self._leadership.is_leader() else None

    async def wait_begun(self) -> None:
        await self._leads.wait()

    async def wait_over(self) -> None:
        await self._is_over.wait()
