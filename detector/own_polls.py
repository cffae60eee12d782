"""OwnPolls: the time since this detector last polled the queue of incidents' questions successfully.

A connection that answers does not prove polls: the worker may have ended, its credentials may not allow
polling, or Temporal's matching service may be away. Temporal lists the pollers of a queue with the times of
their polls, by its own clock. A time that moved since the last look is a successful poll.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from kube.server_clock import monotonic_clock
from runtime.polling import last_activity_poll

LOOK_EVERY = timedelta(seconds=10)
_UNANSWERABLE = frozenset({RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED})
"""From a Temporal that never lists pollers: polls then count as successful."""


class OwnPolls:
    """The polls of one detector, under the identity of its worker."""

    def __init__(
        self,
        temporal: Callable[[], Client],
        queue: str,
        identity: str,
        clock: Callable[[], float] = monotonic_clock,
    ) -> None:
        self._temporal = temporal
        self._queue = queue
        self._identity = identity
        self._clock = clock
        self._polled_at: float | None = None
        """None: this detector is not the leader."""
        self._latest: datetime | None = None
        """The latest poll, by Temporal's clock."""

    def lead_begins(self) -> None:
        """Expect polls from now on, as this detector is the leader."""
        self._polled_at = self._clock()

    def lead_ends(self) -> None:
        """Expect no polls from now on: `silence` is zero."""
        self._polled_at = None

    def silence(self) -> timedelta:
        """Time since a successful poll, or since becoming the leader; zero in a standby."""
        return timedelta() if self._polled_at is None else timedelta(seconds=self._clock() - self._polled_at)

    async def run(self) -> None:
        while True:
            if self._polled_at is not None:
                await self.look()
            await asyncio.sleep(LOOK_EVERY.total_seconds())

    async def look(self) -> None:
        """Look for a poll since the last look; without an answer of Temporal there was none."""
        try:
            latest = await last_activity_poll(self._temporal(), self._queue, self._identity)
        except RPCError as error:
            has_polled = error.status in _UNANSWERABLE
        else:
            has_polled = latest not in {None, self._latest}
            self._latest = latest
        if has_polled and self._polled_at is not None:
            self._polled_at = self._clock()
