"""A workload cluster whose Nodes change as fast as its API server lets controllers change them."""

import asyncio
import itertools
import time
from collections.abc import Sequence
from contextlib import suppress

from bench.cluster import BenchCluster
from bench.clusterapi.fleet import API, WorkloadFleet, workload_fleet
from bench.figure import Figure
from bench.strain import Strain
from devcluster.dev_cluster_api import NAMESPACE

MACHINES = (20, 200)
WRITERS = 20
FLAPPING_SECONDS = 40.0


async def measure(cluster: BenchCluster) -> list[Figure]:
    """Few Machines, then many, as one Cluster each."""
    figures = []
    async with workload_fleet(cluster) as fleet:
        strain = Strain(cluster)
        await strain.start()
        for machines in MACHINES:
            figures += await _measure(cluster, fleet, strain, machines)
    return figures


async def _measure(
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
        Figure(name=f"changes of Nodes, {case}", measured=rate, goal=None, unit="a second"),
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
