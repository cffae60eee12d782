"""100 of 500 nodes fail at once and recover at once; with the CPU time of our processes and Temporal."""

import asyncio

from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import BenchFleet, watched_fleet
from bench.usage import cpu_seconds

NODES_IN_ALL = 500
FAILING = 100
SETTLED_SECONDS = 3.0


async def measure(cluster: BenchCluster) -> list[Figure]:
    """One storm, after one remediation as a warm-up."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(NODES_IN_ALL)
        await fleet.add_check()
        await cluster.start("detector", "worker")
        await _one(fleet, fleet.names[-1])
        before = {name: cpu_seconds(cluster.pid(name)) for name in ("worker", "detector", "temporal")}
        nodes = fleet.names[:FAILING]
        failed = await fleet.set_all_ready(nodes, "Unknown")
        await fleet.until_requested(nodes)
        await asyncio.sleep(SETTLED_SECONDS)
        recovered = await fleet.set_all_ready(nodes, "True")
        await fleet.until_clean(nodes)
        await asyncio.sleep(SETTLED_SECONDS)
        spent = {name: cpu_seconds(cluster.pid(name)) - was for name, was in before.items()}
    last_came = max(fleet.came[node] for node in nodes) - failed
    last_went = max(fleet.went[node] for node in nodes) - recovered
    return [
        Figure(
            name="100 of 500 fail, to the last request",
            measured=last_came,
            goal=3,
            unit="s",
            reference="10 s",
        ),
        Figure(
            name="100 of 500 recover, to the last request gone",
            measured=last_went,
            goal=3,
            unit="s",
            reference="6.7 to 29 s",
        ),
        *(
            Figure(
                name=f"CPU of {name} per incident", measured=1000 * seconds / FAILING, goal=None, unit="ms"
            )
            for name, seconds in spent.items()
        ),
    ]


async def _one(fleet: BenchFleet, node: str) -> None:
    await fleet.set_ready(node, "Unknown")
    await fleet.until_requested([node])
    await fleet.set_ready(node, "True")
    await fleet.until_clean([node])
