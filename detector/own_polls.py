"""OwnPolls: how long ago this detector polled the queue of incidents' questions with success, while it leads.

A connection that answers proves no polls: the worker may have ended, its credentials may not allow it to
poll, or the service that matches tasks may be away. Temporal lists who polled a queue, and when, by its own
clock. A time that moved since the last look is a poll that succeeded.
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
"""Of a Temporal that never says who polls: then nothing is known against the polls."""


class OwnPolls:
    """The polls of one detector, by the identity of its worker."""

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
        """None: it does not lead."""
        self._latest: datetime | None = None
        """The latest poll, by Temporal's clock."""

    def lead_begins(self) -> None:
        """Expect polls from now on."""
        self._polled_at = self._clock()

    def lead_ends(self) -> None:
        """Expect none."""
        self._polled_at = None

    def silence(self) -> timedelta:
        """How long ago a poll succeeded, or the lead began; nothing while this detector does not lead."""
        return timedelta() if self._polled_at is None else timedelta(seconds=self._clock() - self._polled_at)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            if self._polled_at is not None:
                await self.look()
            await asyncio.sleep(LOOK_EVERY.total_seconds())

    async def look(self) -> None:
        """See whether a poll has succeeded since the last look; where Temporal does not answer, none has."""
        try:
            latest = await last_activity_poll(self._temporal(), self._queue, self._identity)
        except RPCError as error:
            has_polled = error.status in _UNANSWERABLE
        else:
            has_polled = latest not in {None, self._latest}
            self._latest = latest
        if has_polled and self._polled_at is not None:
            self._polled_at = self._clock()
