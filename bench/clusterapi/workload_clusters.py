"""The detector over 20 workload clusters of 250 Nodes, and marks while it tells 5,000 Machines healthy.

There is one real workload cluster, under the name of 20 Clusters: 20 real ones fit on no laptop. To the
detector they are 20: as many Secrets, connections and watches, and a copy of the Nodes for each.
"""

import asyncio
import time

from bench.cluster import BenchCluster
from bench.clusterapi.fleet import WorkloadFleet, machine_of, workload_fleet
from bench.figure import Figure
from bench.large import PADDING
from bench.usage import cpu_seconds, resident_megabytes

CLUSTERS = [f"workload-{number}" for number in range(20)]
NODES_OF_EACH = 250
MACHINES_IN_ALL = len(CLUSTERS) * NODES_OF_EACH
FAILS_WHEN_TOLD = 1_000
SETTLED_SECONDS = 10.0


async def measure(cluster: BenchCluster) -> list[Figure]:
    """A Node fails for all 20 at once, while most Machines are yet to be told healthy."""
    async with workload_fleet(cluster) as fleet:
        await fleet.nodes.add(NODES_OF_EACH, PADDING)
        for name in CLUSTERS:
            await fleet.add_cluster(name)
        began = time.monotonic()
        await cluster.start("detector", "worker")
        await fleet.until_told_healthy(FAILS_WHEN_TOLD)
        marked = await _marked_everywhere(fleet, fleet.nodes.names[-1])
        await fleet.until_told_healthy(MACHINES_IN_ALL - len(CLUSTERS))
        told = max(fleet.told_healthy.values()) - began
        await asyncio.sleep(SETTLED_SECONDS)
        resident = resident_megabytes(cluster.pid("detector"))
        spent = cpu_seconds(cluster.pid("detector"))
    return [
        Figure("detector memory, 20 workload clusters of 250 Nodes of 16 KB", resident, 200, "MB"),
        Figure("start to 5,000 Machines told healthy", told, None, "s"),
        Figure("CPU of the detector until then", spent, None, "s"),
        Figure("20 fail meanwhile, to the last mark", marked, None, "s"),
    ]


async def _marked_everywhere(fleet: WorkloadFleet, node: str) -> float:
    """Seconds from before the status of a Node is written until all its 20 Machines are marked."""
    machines, began = [machine_of(cluster, node) for cluster in CLUSTERS], time.monotonic()
    await fleet.nodes.set_ready(node, "Unknown")
    await fleet.until_marked(machines)
    return max(fleet.marked[machine] for machine in machines) - began
