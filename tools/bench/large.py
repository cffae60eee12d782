"""The detector with 10,000 Nodes of 16 KB: memory, the first sync, and the load of heartbeats."""

import asyncio
import time

from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import BenchFleet, watched_fleet
from bench.usage import cpu_seconds, resident_megabytes

NODES_IN_ALL = 10_000
PADDING = 15_500
UPDATES_PER_SECOND = 33
LOAD_SECONDS = 30.0
SETTLED_SECONDS = 5.0


async def measure(cluster: BenchCluster) -> list[Figure]:
    """The CPU time of the sync is that of a start, less that of a start in an empty cluster."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add_check()
        empty = await _start(cluster)
        await cluster.stop("detector")
        await fleet.add(NODES_IN_ALL, PADDING)
        full = await _start(cluster)
        pid = cluster.pid("detector")
        resident = resident_megabytes(pid)
        before = cpu_seconds(pid)
        await _heartbeats(fleet)
        share = (cpu_seconds(pid) - before) / LOAD_SECONDS
    return [
        Figure("detector memory, 10,000 Nodes of 16 KB", resident, unit="MB", goal=150),
        Figure("CPU of the first sync, 10,000 Nodes", full - empty, unit="s", goal=2),
        Figure("CPU at 33 status updates a second", 100 * share, unit="% of a core", goal=2),
    ]


async def _start(cluster: BenchCluster) -> float:
    """The CPU seconds of the detector from its start until it has settled."""
    await cluster.start("detector")
    await asyncio.sleep(SETTLED_SECONDS)
    return cpu_seconds(cluster.pid("detector"))


async def _heartbeats(fleet: BenchFleet) -> None:
    """Write statuses that differ only in the heartbeat time, evenly distributed."""
    began = time.monotonic()
    for number in range(int(UPDATES_PER_SECOND * LOAD_SECONDS)):
        due = began + number / UPDATES_PER_SECOND
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await fleet.set_ready(fleet.names[number % len(fleet.names)], "True")
