"""Candidates for a leader Lease: each standby that could lead holds a Lease of its own.

A leader that cannot do its work must know whether another process could, before it gives up the lead. So each
fit standby keeps a Lease beside the leader's, like the LeaseCandidates of Kubernetes, which not every cluster
serves. It renews the Lease rarely, and deletes it when it leads, is not fit, or ends.

Others judge it by their own clock alone, like the leader Lease: a Lease that is seen to change belongs to a
live process, whatever its timestamps. The Lease of a dead process no longer changes.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kube.client import Client
from kube.errors import KubernetesError, NotFound
from kube.lease import new_lease
from kube.resource import LEASES, Object
from kube.server_clock import monotonic_clock, wall_clock
from objects.timestamps import micro_time

_logger = logging.getLogger(__name__)

CANDIDATE_FOR = "paramedic.dev/candidate-for"
"""The label of a candidate's Lease: the name of the leader Lease."""
_HASH_LENGTH = 10
WRITE_WITHIN_SECONDS = 2.0
"""Also the limit for the withdrawal when the process ends."""
FORGOTTEN = timedelta(hours=1)
"""A Lease that was not renewed for this time belongs to a dead process."""


@dataclass(frozen=True)
class CandidateTimes:
    """When a candidate announces that it is fit, and when others rely on it."""

    settled: timedelta = timedelta(seconds=5)
    """How long it is fit before it announces that: a process that soon leads need not."""
    renewal: timedelta = timedelta(seconds=10)
    """The interval of renewals."""
    look: timedelta = timedelta(seconds=2)
    """The interval at which it checks its fitness, and others look for it."""
    steady: timedelta = timedelta(seconds=15)
    """How long others must have seen it: a server that was down for all may just be back for it first."""

    @property
    def live(self) -> timedelta:
        """How long it counts after a renewal was seen; one renewal may fail."""
        return 2.5 * self.renewal


def candidate_name(leader: str, identity: str) -> str:
    """The name of a candidate's Lease; it contains a hash, as an identity may not be a valid name."""
    return f"{leader}-{hashlib.sha256(identity.encode()).hexdigest()[:_HASH_LENGTH]}"


async def _leases_of_candidates(client: Client, namespace: str, leader: str) -> list[Object]:
    return await client.list(LEASES, namespace, f"{CANDIDATE_FOR}={leader}")


@dataclass
class _Observed:
    version: str
    first: float
    renewed: float | None = None
    """When it was seen to change; None if never, so that its process may be gone."""


class Candidates:
    """The other candidates for the Lease `leader`, as long as `look` is called."""

    def __init__(  # noqa: PLR0913  the Lease that they stand for, who is no other, and the clocks
        self,
        client: Client,
        namespace: str,
        leader: str,
        identity: str,
        *,
        times: CandidateTimes,
        clock: Callable[[], float] = monotonic_clock,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._leader = leader
        self._own = candidate_name(leader, identity)
        self._times = times
        self._clock = clock
        self._observations: dict[str, _Observed] = {}

    async def look(self) -> None:
        """Read the Leases of all candidates; raises KubernetesError."""
        found = await _leases_of_candidates(self._client, self._namespace, self._leader)
        versions = {
            candidate["metadata"]["name"]: candidate["metadata"]["resourceVersion"] for candidate in found
        }
        self.note({name: version for name, version in versions.items() if name != self._own})

    def note(self, versions: Mapping[str, str]) -> None:
        """Record the resourceVersion of each Lease of another candidate."""
        now, before = self._clock(), self._observations
        self._observations = {
            name: before.get(name, _Observed(version, now)) for name, version in versions.items()
        }
        for name, version in versions.items():
            if self._observations[name].version != version:
                self._observations[name].version, self._observations[name].renewed = version, now

    def forget(self) -> None:
        """Discard observations, which would become outdated without further looks."""
        self._observations.clear()

    @property
    def is_one_fit(self) -> bool:
        """True if another process could lead, and has been able to for some time."""
        return any(self._is_fit(candidate) for candidate in self._observations.values())

    def _is_fit(self, candidate: _Observed) -> bool:
        now, times = self._clock(), self._times
        if candidate.renewed is None or now - candidate.renewed > times.live.total_seconds():
            return False
        return now - candidate.first >= times.steady.total_seconds()


class Candidacy:
    """One candidate for the Lease `leader`. A failed write only leaves it unannounced."""

    def __init__(  # noqa: PLR0913  the Lease that it stands for, who it is, and its clocks
        self,
        client: Client,
        namespace: str,
        leader: str,
        identity: str,
        *,
        is_fit: Callable[[], bool],
        times: CandidateTimes,
        clock: Callable[[], float] = monotonic_clock,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        """`is_fit` returns whether this process is a standby that could lead."""
        self._client = client
        self._namespace = namespace
        self._leader = leader
        self._identity = identity
        self._name = candidate_name(leader, identity)
        self._is_fit = is_fit
        self._times = times
        self._clock = clock
        self._now = now
        self._fit_since: float | None = None
        self._renewed_at: float | None = None
        self._may_be_there = False
        self._is_failing = False

    async def run(self) -> None:
        """Announce that this process is fit until cancelled, then withdraw."""
        await self._try(self._remove_forgotten)
        try:
            while True:
                await self._try(self._announce)
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
                _logger.warning("Cannot announce whether this process could lead: %s", why)
            self._is_failing = True
        else:
            self._is_failing = False

    async def _announce(self) -> None:
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
        """Delete the Leases of dead processes, which no other process deletes."""
        oldest = micro_time(self._now() - FORGOTTEN)
        for lease in await _leases_of_candidates(self._client, self._namespace, self._leader):
            if str((lease.get("spec") or {}).get("renewTime")) < oldest:
                await self._delete(lease["metadata"]["name"])

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete(LEASES, name, self._namespace)
        except NotFound:
            return
