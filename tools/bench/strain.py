"""Strain: how the detector bears loads: the stops of its event loop, and the renewals of its lead."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import pairwise

from bench.cluster import PROCESSES, BenchCluster
from bench.figure import Goal, longest_stop
from bench.fleet import running
from kube.errors import none_if_absent
from kube.lease import LeaseRecord
from kube.resource import LEASES
from runtime.process_names import LEADER_LEASE, NAMESPACE

STARTED_WITHIN = timedelta(minutes=15)
_LOOK_SECONDS = 0.5
RENEW_DEADLINE_SECONDS = 10
"""A leader that has not renewed its Lease for so long gives up the lead."""


def strain_goals(case: str) -> tuple[Goal, Goal]:
    """The goals of the two values of one load."""
    return longest_stop(case), Goal(f"longest time without a renewal, {case}", RENEW_DEADLINE_SECONDS, "s")


class Strain:
    """Detector and worker of one scenario, under one load after the other."""

    def __init__(self, cluster: BenchCluster) -> None:
        self.values: list[float] = []
        """Of each load the longest stop in milliseconds, and the longest time without a renewal in s."""
        self._cluster = cluster
        self._stops = cluster.layout.directory / "stops"

    async def start(self) -> None:
        """Start both, and return when they are ready, and so have read everything."""
        await self._cluster.start(*PROCESSES, stops=self._stops, within=STARTED_WITHIN)

    @asynccontextmanager
    async def load(self) -> AsyncIterator[None]:
        """Add the two values of the load that this block is."""
        began = time.monotonic()
        renewals = [began]
        async with running(self._note_renewals(renewals)):
            yield
        noted = [tuple(map(float, line.split())) for line in self._stops.read_text().splitlines()]
        longest = max((seconds for ended, seconds in noted if ended >= began), default=0.0)
        # A block without any renewal is as bad as it is long.
        unrenewed = max(later - earlier for earlier, later in pairwise([*renewals, time.monotonic()]))
        self.values += [1000 * longest, unrenewed]

    async def _note_renewals(self, renewals: list[float]) -> None:
        """Note by the monotonic clock when the Lease is seen with another time of renewal."""
        before: datetime | None = None
        while True:
            found = await none_if_absent(self._cluster.client.get(LEASES, LEADER_LEASE, NAMESPACE))
            renewed = None if found is None else LeaseRecord.read(found).spec.renew_time
            if renewed != before:
                renewals.append(time.monotonic())
            before = renewed
            await asyncio.sleep(_LOOK_SECONDS)
