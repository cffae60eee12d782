"""Handover: a leader that cannot answer incidents releases the Lease if another detector is fit.

A leader cannot answer while it does not reach Temporal, or while its polls for questions fail. A standby is
fit if it reaches Temporal, and counts once it has reported so for some time (`kube.candidates`). Without a
fit standby the leader stays: status and Events need no Temporal. A detector that released the Lease tries to
acquire it again when it reaches Temporal, or when no other detector is fit any more.

A standby does not poll, so its polls are not known. A detector whose polls failed is not fit for
`HandoverTimes.suspect`: if no polls succeed at all, the Lease moves once in that time, and not continuously.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from temporalio.client import Client as TemporalClient
from temporalio.service import RPCError, RPCStatusCode

from kube.candidates import Candidacy, Candidates, CandidateTimes
from kube.client import Client
from kube.errors import KubernetesError
from kube.server_clock import monotonic_clock
from runtime.polling import last_activity_poll

_log = logging.getLogger(__name__)
LOOK_EVERY = timedelta(seconds=10)
_UNANSWERABLE = frozenset({RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED})
"""From a Temporal that never lists pollers: polls then count as successful."""


@dataclass(frozen=True, kw_only=True)
class HandoverTimes:
    """How long Temporal may be unreachable, and the consequences."""

    fit: timedelta = timedelta(seconds=12)
    """A detector that reached Temporal within this time could lead; it asks every five seconds."""
    patience: timedelta = timedelta(seconds=30)
    """How long a leader may be without Temporal before it releases the Lease."""
    unpolled: timedelta = timedelta(seconds=150)
    """How long a leader may be without a successful poll; a poll takes up to a minute."""
    suspect: timedelta = timedelta(minutes=10)
    """How long a detector is unfit after that."""
    candidates: CandidateTimes = field(default_factory=CandidateTimes)


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


class Handover:
    """Decides whether this detector releases the Lease."""

    def __init__(  # noqa: PLR0913  the leader Lease, the own identity, and the sources of the decision
        self,
        client: Client,
        namespace: str,
        leader: str,
        identity: str,
        *,
        silence: Callable[[], timedelta],
        unpolled: Callable[[], timedelta],
        is_leader: Callable[[], bool],
        times: HandoverTimes,
        clock: Callable[[], float] = monotonic_clock,
    ) -> None:
        """`silence`: time since Temporal last answered; `unpolled`: time since a poll succeeded."""
        self._silence = silence
        self._unpolled = unpolled
        self._clock = clock
        self._suspect_until = clock()
        self._is_leader = is_leader
        self._times = times
        self._others = Candidates(client, namespace, leader, identity, times=times.candidates)
        self._own = Candidacy(
            client, namespace, leader, identity, is_fit=self._is_fit, times=times.candidates
        )

    def gives_way(self) -> bool:
        """True if this detector has been unable to answer for too long, and another is fit."""
        is_unfit = self._silence() >= self._times.patience or self.is_suspect
        return is_unfit and self._others.is_one_fit

    async def run(self) -> None:
        """Report whether this detector is fit, and look for others while it is not, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._own.run())
            while True:
                await self._look()
                await asyncio.sleep(self._times.candidates.look.total_seconds())

    def _is_fit(self) -> bool:
        return not self._is_leader() and self._silence() < self._times.fit and not self.is_suspect

    @property
    def is_suspect(self) -> bool:
        """True if its polls failed within the last `HandoverTimes.suspect`."""
        return self._clock() < self._suspect_until

    def _note_polls(self) -> None:
        if self._unpolled() >= self._times.unpolled:
            self._suspect_until = self._clock() + self._times.suspect.total_seconds()
        elif self._is_leader():
            self._suspect_until = self._clock()

    async def _look(self) -> None:
        self._note_polls()
        if self._silence() < self._times.fit and not self.is_suspect:
            self._others.forget()
            return
        try:
            async with asyncio.timeout(self._times.candidates.renewal.total_seconds()):
                await self._others.look()
        except (KubernetesError, TimeoutError) as error:
            # Older observations expire by themselves: in doubt the leader stays.
            _log.debug("standbys cannot be listed", exc_info=error)
