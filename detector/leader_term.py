"""LeaderTerm: the time in which this detector is the leader, from the callbacks of the election."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from kube.leadership import Leadership


class LeaderTerm:
    """The present or the last term of this detector."""

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
        """When this detector became the leader; None for a standby."""
        return self._began if self._leadership.is_leader() else None

    async def wait_begun(self) -> None:
        await self._leads.wait()

    async def wait_over(self) -> None:
        await self._is_over.wait()
