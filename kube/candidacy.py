"""Candidacy: that a process stands by for the lead and could do its work, said by a Lease of its own.

A leader that cannot do its work must know whether another could, before it gives the lead away. So whoever
stands by and is fit keeps a Lease beside the leader's, as the LeaseCandidates of Kubernetes do, which not
every cluster serves. It is renewed rarely, and deleted by who leads, is not fit, or ends.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from kube.candidates import CANDIDATE_FOR, CandidateTimes, candidate_name
from kube.client import Client
from kube.errors import KubernetesError, NotFound
from kube.lease import new_lease
from kube.resource import LEASES, Object
from kube.server_clock import monotonic_clock
from objects.timestamps import micro_time

_logger = logging.getLogger(__name__)

WRITE_WITHIN_SECONDS = 2.0
"""As long as an end may take, too."""
FORGOTTEN = timedelta(hours=1)
"""A Lease that was not renewed for so long is that of a process that died."""


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class Candidacy:
    """One candidate for the Lease `leader`. No write fails more than itself: without it, it is not known."""

    def __init__(  # noqa: PLR0913  the Lease that it stands for, who it is, and its clocks
        self,
        client: Client,
        namespace: str,
        leader: str,
        identity: str,
        *,
        counts_as_healthy: Callable[[], bool],
        times: CandidateTimes,
        clock: Callable[[], float] = monotonic_clock,
        now: Callable[[], datetime] = _wall_clock,
    ) -> None:
        """`is_fit` says whether this process stands by, and could lead."""
        self._client = client
        self._namespace = namespace
        self._leader = leader
        self._identity = identity
        self._name = candidate_name(leader, identity)
        self._is_fit = counts_as_healthy
        self._times = times
        self._clock = clock
        self._now = now
        self._fit_since: float | None = None
        self._renewed_at: float | None = None
        self._may_be_there = False
        self._is_failing = False

    async def run(self) -> None:
        """Say whether it is fit until cancelled, then withdraw."""
        await self._try(self._remove_forgotten)
        try:
            while True:
                await self._try(self._tell)
                await asyncio.sleep(self._times.look.total_seconds())
        finally:
            await self._try(self._withdraw)

    async def _try(self, write: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(WRITE_WITHIN_SECONDS):
                await write()
        except (KubernetesError, TimeoutError) as error:
            if not self._is_failing:
                why = str(error) or "no answer in time"
                _logger.warning("Others cannot be told whether this process could lead: %s", why)
            self._is_failing = True
        else:
            self._is_failing = False

    async def _tell(self) -> None:
        now = self._clock()
        if not self._is_fit():
            self._fit_since = None
            await self._withdraw()
            return
        self._fit_since = now if self._fit_since is None else self._fit_since
        if now - self._fit_since >= self._times.settled.total_seconds() and self._is_due(now):
            await self._renew()
            self._renewed_at = now

    def _is_due(self, now: float) -> bool:
        return self._renewed_at is None or now - self._renewed_at >= self._times.renewal.total_seconds()

    async def _renew(self) -> None:
        self._may_be_there = True
        patch: Object = {"spec": {"renewTime": micro_time(self._now())}}
        try:
            await self._client.merge_patch(LEASES, self._name, patch, self._namespace)
        except NotFound:
            await self._client.create(LEASES, self._lease(), self._namespace)

    def _lease(self) -> Object:
        lease = new_lease(
            self._name, self._namespace, self._identity, self._times.live, self._now(), owner=None
        )
        lease["metadata"]["labels"] = {CANDIDATE_FOR: self._leader}
        return lease

    async def _withdraw(self) -> None:
        self._renewed_at = None
        if self._may_be_there:
            await self._delete(self._name)
            self._may_be_there = False

    async def _remove_forgotten(self) -> None:
        """Remove what those that died left behind: nobody else does."""
        oldest = micro_time(self._now() - FORGOTTEN)
        for lease in await self._client.list(LEASES, self._namespace, f"{CANDIDATE_FOR}={self._leader}"):
            if str((lease.get("spec") or {}).get("renewTime")) < oldest:
                await self._delete(lease["metadata"]["name"])

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete(LEASES, name, self._namespace)
        except NotFound:
            return
