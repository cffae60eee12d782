"""5,000 incidents are open at once: they begin together, and a stop of all checks has each judged anew."""

import asyncio
from datetime import timedelta

from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import watched_fleet
from bench.outage import limit_unhealthy, until_all_are_held
from bench.strain import Strain
from health.cluster.global_stop import STOP
from kube.resource import NAMESPACES

INCIDENTS = 5_000
PATIENCE = timedelta(minutes=15)
SETTLED_SECONDS = 20.0
LEASE_NAMESPACE = "medik8s-leases"


async def measure(cluster: BenchCluster) -> list[Figure]:
    """All Nodes fail above the threshold of their check."""
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
