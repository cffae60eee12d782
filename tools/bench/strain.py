"""Strain: how the detector bears a load: stops of its event loop, renewals of its lead, calls of Temporal."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from bench.cluster import BenchCluster
from bench.figure import Figure, longest_stop
from bench.temporal_requests import TemporalRequests
from bench.usage import cpu_seconds
from bench.watched_detector import STOPS_FILE
from kube.lease import LeaseRecord
from kube.resource import LEASES
from runtime.process_names import LEADER_LEASE

_WATCHED = {"detector": (sys.executable, "-m", "bench.watched_detector")}
_NAMESPACE = "paramedic-system"
_LOOK_SECONDS = 0.5
RENEW_DEADLINE_SECONDS = 10
"""A leader that has not renewed its Lease for so long gives up the lead."""


class EventLoopStall(NamedTuple):
    """A stop of the event loop, as tools/bench/watched_detector.py writes it down."""

    ended: float
    seconds: float
    busy: float


NO_STOP = EventLoopStall(0, 0, 0)


class Strain:
    """Detector and worker of one measurement, under some load."""

    def __init__(self, cluster: BenchCluster) -> None:
        self._cluster = cluster
        self._requests = TemporalRequests(cluster)
        self._stops = cluster.layout.directory / "stops"
        self._began = time.monotonic()
        self._renewals: list[datetime] = []
        self._calls = self._cpu = 0.0

    async def start(self) -> None:
        environments = {"detector": {STOPS_FILE: str(self._stops)}}
        await self._cluster.start("detector", "worker", environments=environments, commands=_WATCHED)

    @asynccontextmanager
    async def measured(self) -> AsyncIterator[None]:
        """Measure stops, renewals and calls while the block runs."""
        self._began, self._renewals = time.monotonic(), []
        calls, cpu = await self._requests.count(), self._detector_cpu
        watching = asyncio.create_task(self._watch_lease())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        self._calls, self._cpu = await self._requests.count() - calls, self._detector_cpu - cpu

    def figures(self, case: str) -> list[Figure]:
        """The figures of the last measured block."""
        stops = self._noted_stops
        longest = max(stops, key=lambda stop: stop.seconds, default=NO_STOP)
        busiest = max(stops, key=lambda stop: stop.busy, default=NO_STOP)
        unrenewed = max((later - earlier).total_seconds() for earlier, later in pairwise(self._renewals))
        return [
            longest_stop(case, longest.seconds),
            Figure(
                name=f"the longest time of one stop on the processor, {case}",
                measured=1000 * busiest.busy,
                goal=None,
                unit="ms",
            ),
            Figure(
                name=f"longest time without a renewal, {case}",
                measured=unrenewed,
                goal=RENEW_DEADLINE_SECONDS,
                unit="s",
            ),
            Figure(name=f"calls of Temporal, {case}", measured=self._calls, goal=None, unit=""),
            Figure(name=f"CPU of the detector, {case}", measured=self._cpu, goal=None, unit="s"),
        ]

    @property
    def _detector_cpu(self) -> float:
        return cpu_seconds(self._cluster.pid("detector"))

    @property
    def _noted_stops(self) -> list[EventLoopStall]:
        noted = (EventLoopStall(*map(float, line.split())) for line in self._stops.read_text().splitlines())
        return [stop for stop in noted if stop.ended >= self._began]

    async def _watch_lease(self) -> None:
        while True:
            found = await self._cluster.client.get(LEASES, LEADER_LEASE, _NAMESPACE)
            renewed = LeaseRecord.read(found).spec.renew_time
            if renewed is not None and renewed not in self._renewals[-1:]:
                self._renewals.append(renewed)
            await asyncio.sleep(_LOOK_SECONDS)
