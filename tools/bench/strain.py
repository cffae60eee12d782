"""Strain: how the detector bears a load: stops of its event loop, renewals of its lead, calls of Temporal."""

import asyncio
import itertools
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from bench.cluster import BenchCluster
from bench.clusterapi.fleet import API, WorkloadFleet, workload_fleet
from bench.figure import Figure, longest_stop
from bench.fleet import watched_fleet
from bench.outage import limit_unhealthy, until_all_are_held
from bench.usage import TemporalRequests, cpu_seconds
from bench.watched_detector import STOPS_FILE
from devcluster.dev_cluster_api import NAMESPACE
from health.cluster.global_stop import STOP
from kube.errors import none_if_absent
from kube.lease import LeaseRecord
from kube.resource import LEASES, NAMESPACES
from runtime.process_names import LEADER_LEASE

_WATCHED = {"detector": (sys.executable, "-m", "bench.watched_detector")}
_NAMESPACE = "paramedic-system"
_LOOK_SECONDS = 0.5
RENEW_DEADLINE_SECONDS = 10
"""A leader that has not renewed its Lease for so long gives up the lead."""
INCIDENTS = 5_000
PATIENCE = timedelta(minutes=15)
SETTLED_SECONDS = 20.0
LEASE_NAMESPACE = "medik8s-leases"
MACHINES = (20, 200)
WRITERS = 20
FLAPPING_SECONDS = 40.0


class EventLoopStall(NamedTuple):
    """A stop of the event loop, as tools/bench/watched_detector.py writes it down."""

    ended: float
    seconds: float
    own: float
    """The seconds for which the loop itself worked; the rest is of other threads and processes."""


NO_STOP = EventLoopStall(0, 0, 0)


class Strain:
    """Detector and worker of one measurement, under some load."""

    def __init__(self, cluster: BenchCluster) -> None:
        self._cluster = cluster
        self._requests = TemporalRequests(cluster)
        self._stops = cluster.layout.directory / "stops"
        self._began, self._ended = time.monotonic(), 0.0
        self._renewals: list[float] = []
        """When the Lease was seen with another time of renewal, by the monotonic clock."""
        self._calls = self._cpu = 0.0
        self._is_started = False

    async def start(self) -> None:
        """Start both, and return when they are ready, and so have read everything.

        A measurement may have begun before.
        """
        environments = {"detector": {STOPS_FILE: str(self._stops)}}
        await self._cluster.start(
            "detector", "worker", environments=environments, commands=_WATCHED, within=PATIENCE
        )
        self._is_started = True

    @asynccontextmanager
    async def measured(self) -> AsyncIterator[None]:
        """Measure stops, renewals and calls while the block runs."""
        self._began, self._renewals = time.monotonic(), []
        calls = await self._requests.count() if self._is_started else 0.0
        cpu = self._detector_cpu if self._is_started else 0.0
        watching = asyncio.create_task(self._watch_lease())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        self._ended = time.monotonic()
        self._calls, self._cpu = await self._requests.count() - calls, self._detector_cpu - cpu

    def figures(self, case: str) -> list[Figure]:
        """The figures of the last measured block."""
        stops = self._noted_stops
        longest = max(stops, key=lambda stop: stop.seconds, default=NO_STOP)
        longest_own = max(stops, key=lambda stop: stop.own, default=NO_STOP)
        # A block without any renewal is as bad as it is long.
        unrenewed = max(
            later - earlier for earlier, later in pairwise((self._began, *self._renewals, self._ended))
        )
        return [
            longest_stop(case, longest.seconds),
            Figure(f"longest stop on the processor, {case}", 1000 * longest_own.own, unit="ms"),
            Figure(
                f"longest time without a renewal, {case}", unrenewed, unit="s", goal=RENEW_DEADLINE_SECONDS
            ),
            Figure(f"calls of Temporal, {case}", self._calls),
            Figure(f"CPU of the detector, {case}", self._cpu, unit="s"),
        ]

    @property
    def _detector_cpu(self) -> float:
        return cpu_seconds(self._cluster.pid("detector"))

    @property
    def _noted_stops(self) -> list[EventLoopStall]:
        noted = (EventLoopStall(*map(float, line.split())) for line in self._stops.read_text().splitlines())
        return [stop for stop in noted if stop.ended >= self._began]

    async def _watch_lease(self) -> None:
        before: datetime | None = None
        while True:
            found = await none_if_absent(self._cluster.client.get(LEASES, LEADER_LEASE, _NAMESPACE))
            renewed = None if found is None else LeaseRecord.read(found).spec.renew_time
            if renewed != before:
                self._renewals.append(time.monotonic())
            before = renewed
            await asyncio.sleep(_LOOK_SECONDS)


async def measure_crowd(cluster: BenchCluster) -> list[Figure]:
    """5,000 incidents begin together, and a stop of all checks has each judged anew."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(INCIDENTS)
        await fleet.add_check()
        await limit_unhealthy(cluster, "0%")
        strain = Strain(cluster)
        await strain.start()
        async with strain.measured():
            await fleet.set_all_ready(fleet.names, "Unknown")
            await until_all_are_held(fleet, fleet.names, PATIENCE)
        figures = strain.figures(f"{INCIDENTS:,} incidents begin")
        async with strain.measured():
            for reason in ("bench", None):
                patch = {"metadata": {"annotations": {STOP: reason}}}
                await cluster.client.merge_patch(NAMESPACES, LEASE_NAMESPACE, patch)
                await asyncio.sleep(SETTLED_SECONDS)
    return figures + strain.figures(f"{INCIDENTS:,} incidents are stopped and go on")


async def measure_flapping(cluster: BenchCluster) -> list[Figure]:
    """The Nodes of few Machines, then of many, change as fast as their API server allows."""
    figures = []
    async with workload_fleet(cluster) as fleet:
        strain = Strain(cluster)
        await strain.start()
        for machines in MACHINES:
            figures += await _flapping(cluster, fleet, strain, machines)
    return figures


async def _flapping(
    cluster: BenchCluster, fleet: WorkloadFleet, strain: Strain, machines: int
) -> list[Figure]:
    name, case = f"flapping-{machines}", f"{machines} Machines flap"
    await fleet.nodes.add(machines - len(fleet.nodes.names))
    await fleet.add_cluster(name, fleet.nodes.names)
    before = len(fleet.reported_healthy)
    await fleet.until_reported_healthy(before + machines)
    async with strain.measured():
        rate = await _flap(fleet, fleet.nodes.names)
    await fleet.nodes.set_all_ready(fleet.nodes.names, "True")
    await cluster.client.delete(API.machine_health_checks, name, NAMESPACE)
    return [
        Figure(f"changes of Nodes, {case}", rate, unit="a second"),
        *strain.figures(case),
    ]


async def _flap(fleet: WorkloadFleet, nodes: Sequence[str]) -> float:
    """Change Nodes without a pause; answers how many changes a second there were."""
    began, written = time.monotonic(), itertools.count()
    turns = itertools.cycle(itertools.product(("Unknown", "True"), nodes))

    async def write() -> None:
        for status, node in turns:
            await fleet.nodes.set_ready(node, status)
            next(written)

    with suppress(TimeoutError):
        async with asyncio.timeout(FLAPPING_SECONDS):
            await asyncio.gather(*(write() for _ in range(WRITERS)))
    return next(written) / (time.monotonic() - began)
