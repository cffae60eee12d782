"""Handover: a leader that cannot answer incidents releases the Lease and stands back for a minute.

A leader cannot answer while it does not reach Temporal, or while its polls for questions fail. Another
detector acquires the released Lease within seconds. Without another one, this detector leads again after the
minute: status and Events need no Temporal. It stands back at most once in `HandoverTimes.at_most_every`, so
leadership does not go round while Temporal is away for all.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio.client import Client as TemporalClient
from temporalio.service import RPCError, RPCStatusCode

from kube.server_clock import monotonic_clock
from runtime.polling import last_activity_poll

_log = logging.getLogger(__name__)
LOOK_EVERY = timedelta(seconds=10)
_UNANSWERABLE = frozenset({RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED})
"""From a Temporal that never lists pollers: polls then count as successful."""


@dataclass(frozen=True, kw_only=True)
class HandoverTimes:
    """How long a leader may be unable to answer, and the consequences."""

    patience: timedelta = timedelta(seconds=30)
    """How long a leader may be without Temporal before it releases the Lease."""
    unpolled: timedelta = timedelta(seconds=150)
    """How long a leader may be without a successful poll; a poll takes up to a minute."""
    stand_back: timedelta = timedelta(minutes=1)
    """How long it does not stand for the Lease then."""
    at_most_every: timedelta = timedelta(minutes=10)
    """The shortest time from one such release to the next."""


class OwnPolls:
    """The time since this detector last polled the queue of incidents' questions successfully.

    A connection that answers does not prove polls: the worker may have ended, its credentials may not allow
    polling, or Temporal's matching service may be away. Temporal lists the pollers of a queue with the times
    of their polls, by its own clock. A time that moved since the last look is a successful poll.
    """

    def __init__(
        self,
        temporal: Callable[[], TemporalClient],
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


class StandBack:
    """Decides whether this detector releases the leader Lease, and does not stand for it for a while."""

    def __init__(
        self,
        silence: Callable[[], timedelta],
        unpolled: Callable[[], timedelta],
        is_leader: Callable[[], bool],
        times: HandoverTimes,
        clock: Callable[[], float] = monotonic_clock,
    ) -> None:
        """`silence`: time since Temporal last answered; `unpolled`: time since a poll succeeded."""
        self._silence = silence
        self._unpolled = unpolled
        self._is_leader = is_leader
        self._times = times
        self._clock = clock
        self._until = self._not_before = clock()

    def begin_if_due(self) -> bool:
        """True while this detector stands back, which begins if it leads and cannot answer incidents."""
        now, times = self._clock(), self._times
        if now < self._until:
            return True
        cannot_answer = self._silence() >= times.patience or self._unpolled() >= times.unpolled
        if not (cannot_answer and self._is_leader() and now >= self._not_before):
            return False
        _log.warning(
            "Temporal does not answer, or gives no work: this detector releases the leader Lease for %s.",
            times.stand_back,
        )
        self._until = now + times.stand_back.total_seconds()
        self._not_before = now + times.at_most_every.total_seconds()
        return True
