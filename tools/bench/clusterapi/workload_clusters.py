"""The detector with 20 workload clusters of 250 Nodes, and marks while it reports 5,000 Machines healthy.

One real workload cluster is published as 20 Clusters, because 20 real ones do not fit on a laptop. The
detector has as many Secrets, connections and watches as for 20, and a copy of all Nodes for each. A Cluster
has Machines for 249 Nodes, shared with all others, and for one that fails for it alone; so each copy has 269
Nodes.
"""

import asyncio
import time

from bench.cluster import BenchCluster
from bench.clusterapi.fleet import WorkloadFleet, gap, workload_fleet
from bench.figure import Figure, percentile
from bench.large import PADDING
from bench.usage import cpu_seconds, resident_megabytes

CLUSTERS = [f"workload-{number}" for number in range(20)]
SHARED = 249
MACHINES_IN_ALL = len(CLUSTERS) * (SHARED + 1)
FIRST_REPORTED = 500
"""The number of Machines reported healthy when the first one fails."""
SETTLED_SECONDS = 10.0


async def measure(cluster: BenchCluster) -> list[Figure]:
    """Fail one Machine of each Cluster while most are not reported healthy yet."""
    async with workload_fleet(cluster) as fleet:
        await fleet.nodes.add(SHARED + len(CLUSTERS), PADDING)
        for name, own in _own_nodes(fleet).items():
            await fleet.add_cluster(name, [*fleet.nodes.names[:SHARED], own])
        began = time.monotonic()
        await cluster.start("detector", "worker")
        await fleet.until_reported_healthy(FIRST_REPORTED)
        marks = await _marks(fleet)
        reported_before = len(fleet.reported_healthy)
        await fleet.until_reported_healthy(MACHINES_IN_ALL - len(CLUSTERS))
        all_reported_after = max(fleet.reported_healthy.values()) - began
        await asyncio.sleep(SETTLED_SECONDS)
        resident = resident_megabytes(cluster.pid("detector"))
        spent = cpu_seconds(cluster.pid("detector"))
    return [
        Figure(
            name="detector memory, 20 workload clusters of 269 Nodes of 16 KB",
            measured=resident,
            goal=200,
            unit="MB",
        ),
        Figure(name="start to 5,000 Machines told healthy", measured=all_reported_after, goal=None, unit="s"),
        Figure(name="CPU of the detector until then", measured=spent, goal=None, unit="s"),
        Figure(
            name="failure to mark meanwhile, first in each cluster, p50",
            measured=percentile(marks, 0.5),
            goal=None,
            unit="s",
        ),
        Figure(
            name="failure to mark meanwhile, first in each cluster, longest of 20",
            measured=max(marks),
            goal=None,
            unit="s",
        ),
        Figure(
            name="Machines told healthy when the last of them was marked",
            measured=reported_before,
            goal=None,
            unit="",
        ),
    ]


def _own_nodes(fleet: WorkloadFleet) -> dict[str, str]:
    return dict(zip(CLUSTERS, fleet.nodes.names[SHARED:], strict=True))


async def _marks(fleet: WorkloadFleet) -> list[float]:
    samples = []
    for name, own in _own_nodes(fleet).items():
        samples.append(await fleet.time_to_mark(name, own))
        await gap()
    return samples
