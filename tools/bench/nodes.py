"""The detector with 100,000 Nodes of 6 KB: its start, its memory, and failures one by one and all at once."""

import asyncio
import time
from datetime import timedelta
from statistics import quantiles

from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import BenchFleet, watched_fleet
from bench.strain import Strain
from bench.usage import resident_megabytes

NODES_IN_ALL = 100_000
PADDING = 5_500
DURATION = timedelta(seconds=1)
"""The duration of the check of a fleet."""
ONE_BY_ONE, SECONDS_BETWEEN = 60, 2.0
AT_ONCE = 1_000
LIMITS = (("detector memory", 1_024, "MB"), ("first sync", 60, "s"), ("p95 of the requests", 0.3, "s"))


async def measure(cluster: BenchCluster) -> list[Figure]:
    """A request is late by the time from the end of its duration to its creation."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(NODES_IN_ALL, PADDING)
        await fleet.add_check()
        strain, began = Strain(cluster), time.monotonic()
        async with strain.measured():
            await strain.start()
        synced, figures = time.monotonic() - began, strain.figures("first sync")
        async with strain.measured():
            late = await _one_by_one(fleet)
        figures += strain.figures("failures one by one")
        async with strain.measured():
            nodes = fleet.names[ONE_BY_ONE : ONE_BY_ONE + AT_ONCE]
            failed = await fleet.set_all_ready(nodes, "Unknown")
            await fleet.until_requested(nodes)
            last = max(fleet.came[node] for node in nodes) - failed
        figures += strain.figures(f"{AT_ONCE:,} failures at once")
        resident = resident_megabytes(cluster.pid("detector"))
    p95 = quantiles(late, n=20)[-1]
    found = zip(LIMITS, (resident, synced, p95), strict=True)
    return [
        *(Figure(name, value, unit=unit, goal=goal) for (name, goal, unit), value in found),
        Figure(f"{AT_ONCE:,} failures, to the last request", last, unit="s"),
        *figures,
    ]


async def _one_by_one(fleet: BenchFleet) -> list[float]:
    """How late the request of each of some nodes is, in seconds."""
    written: dict[str, float] = {}
    for node in fleet.names[:ONE_BY_ONE]:
        await fleet.set_ready(node, "Unknown")
        written[node] = time.monotonic()
        await asyncio.sleep(SECONDS_BETWEEN)
    await fleet.until_requested([*written])
    return [fleet.came[node] - at - DURATION.total_seconds() for node, at in written.items()]
