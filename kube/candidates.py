"""Candidates: which others stand by for a leader Lease and could lead, told by a Lease of each of them.

Judged by our own clock alone, as the Lease of the leader is: one that is seen to change lives, whatever times
it names. Who died left one that does not change any more.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from kube.client import Client
from kube.resource import LEASES
from kube.server_clock import monotonic_clock

CANDIDATE_FOR = "paramedic.dev/candidate-for"
"""The label of such a Lease: the name of the Lease of the leader."""
_HASH_LENGTH = 10


@dataclass(frozen=True)
class CandidateTimes:
    """How a candidate says that it is fit, and how others believe it."""

    settled: timedelta = timedelta(seconds=5)
    """How long it is fit before it says so: who leads after a moment has nothing to say."""
    renewal: timedelta = timedelta(seconds=10)
    """How often it says so again."""
    look: timedelta = timedelta(seconds=2)
    """How often it looks whether it is fit, and others look for it."""
    steady: timedelta = timedelta(seconds=15)
    """How long others must have seen it: what was away for all of them may just be back for it first."""

    @property
    def live(self) -> timedelta:
        """How long it counts after a renewal was seen; one may fail."""
        return 2.5 * self.renewal


def candidate_name(leader: str, identity: str) -> str:
    """The name of the Lease by which a candidate says that it is fit; an identity may be no name."""
    return f"{leader}-{hashlib.sha256(identity.encode()).hexdigest()[:_HASH_LENGTH]}"


@dataclass
class _Observed:
    version: str
    first: float
    renewed: float | None = None
    """When it was seen to change; None: never, and who made it may be gone."""


class Candidates:
    """The other candidates for the Lease `leader`, while somebody looks."""

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
        self._seen: dict[str, _Observed] = {}

    async def look(self) -> None:
        """See who is there now; raises KubernetesError."""
        found = await self._client.list(LEASES, self._namespace, f"{CANDIDATE_FOR}={self._leader}")
        versions = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in found}
        self.note({name: version for name, version in versions.items() if name != self._own})

    def note(self, versions: Mapping[str, str]) -> None:
        """Take in the resourceVersion of each Lease of another that is there."""
        now, before = self._clock(), self._seen
        self._seen = {name: before.get(name, _Observed(version, now)) for name, version in versions.items()}
        for name, version in versions.items():
            if self._seen[name].version != version:
                self._seen[name].version, self._seen[name].renewed = version, now

    def forget(self) -> None:
        """Nobody looks any more: what was seen grows old."""
        self._seen.clear()

    @property
    def is_one_fit(self) -> bool:
        """Whether another could lead, and has been able to for some time."""
        return any(self._is_fit(one) for one in self._seen.values())

    def _is_fit(self, one: _Observed) -> bool:
        now, times = self._clock(), self._times
        if one.renewed is None or now - one.renewed > times.live.total_seconds():
            return False
        return now - one.first >= times.steady.total_seconds()
