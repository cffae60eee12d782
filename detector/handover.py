"""Handover: a leader that does not reach Temporal gives the lead to another that does, where there is one.

The other is believed when it has said so for some time (`kube.candidates`). Where nobody reaches Temporal the
leader stays: status and Events need no Temporal. Who gave the lead away stands for it again when it reaches
Temporal itself, or when nobody else does any more.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from kube.candidates import Candidacy, Candidates, CandidateTimes
from kube.client import Client
from kube.errors import KubernetesError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HandoverTimes:
    """How long Temporal may be silent."""

    fit: timedelta = timedelta(seconds=12)
    """Who heard of Temporal within this time could lead: it is asked every five seconds."""
    patience: timedelta = timedelta(seconds=30)
    """How long a leader may be without Temporal."""
    candidates: CandidateTimes = field(default_factory=CandidateTimes)


class Handover:
    """Whether this detector is to leave the lead to another."""

    def __init__(  # noqa: PLR0913  the Lease of the leader, who we are, and what we know of ourselves
        self,
        client: Client,
        namespace: str,
        leader: str,
        identity: str,
        *,
        silence: Callable[[], timedelta],
        is_leader: Callable[[], bool],
        times: HandoverTimes,
    ) -> None:
        """`silence` says how long ago Temporal was well."""
        self._silence = silence
        self._is_leader = is_leader
        self._times = times
        self._others = Candidates(client, namespace, leader, identity, times=times.candidates)
        self._own = Candidacy(
            client, namespace, leader, identity, is_fit=self._is_fit, times=times.candidates
        )

    def gives_way(self) -> bool:
        """Whether Temporal is away for too long, and another reaches it."""
        return self._silence() >= self._times.patience and self._others.is_one_fit

    async def run(self) -> None:
        """Say whether we are fit, and look for others while we are not, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._own.run())
            while True:
                await self._look()
                await asyncio.sleep(self._times.candidates.look.total_seconds())

    def _is_fit(self) -> bool:
        return not self._is_leader() and self._silence() < self._times.fit

    async def _look(self) -> None:
        if self._silence() < self._times.fit:
            self._others.forget()
            return
        try:
            async with asyncio.timeout(self._times.candidates.renewal.total_seconds()):
                await self._others.look()
        except (KubernetesError, TimeoutError) as error:
            # What was seen before grows old by itself: in doubt the leader stays.
            _log.debug("others that stand by cannot be listed", exc_info=error)
