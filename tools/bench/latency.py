"""The time from a failure whose duration is over to its request, in a cluster of 1,000 nodes."""

import asyncio
import time

from bench.cluster import BenchCluster
from bench.figure import Figure, percentile
from bench.fleet import watched_fleet

NODES_IN_ALL = 1000
SAMPLES = 100
PAUSE_SECONDS = 0.3


async def measure(cluster: BenchCluster) -> list[Figure]:
    """Fail one node after the other; the time begins before the write of the status."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(NODES_IN_ALL)
        await fleet.add_check()
        await cluster.start("detector", "worker")
        samples = []
        for node in fleet.names[: SAMPLES + 5]:
            began = time.monotonic()
            await fleet.set_ready(node, "Unknown")
            await fleet.until_requested([node])
            samples.append(fleet.came[node] - began)
            await asyncio.sleep(PAUSE_SECONDS)
    samples = samples[5:]  # without the warm-up
    reference = "1.36 s"
    return [
        Figure(
            name="failure to request, 1,000 nodes, p50",
            measured=percentile(samples, 0.5),
            goal=0.3,
            unit="s",
            reference=reference,
        ),
        Figure(
            name="failure to request, 1,000 nodes, p99",
            measured=percentile(samples, 0.99),
            goal=0.6,
            unit="s",
            reference=reference,
        ),
    ]
