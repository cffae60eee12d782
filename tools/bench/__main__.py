"""`python -m bench [NAME ...]`: measure, print a table; exit code 0 if all goals are met."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench import actions, bounds, crowd, large, latency, machines, outage, requests, storm, upgrade
from bench.cluster import BenchCluster, bench_cluster
from bench.clusterapi import flapping, marks, workload_clusters
from bench.figure import Figure, table
from runtime.full_collections import keep_full_collections_short

Measure = Callable[[BenchCluster], Awaitable[list[Figure]]]

MEASUREMENTS: dict[str, tuple[Measure, ...]] = {
    "requests": (requests.measure,),
    "latency": (latency.measure,),
    "storm": (storm.measure,),
    "outage": (outage.measure,),
    "large": (large.measure,),
    "actions": (actions.measure,),
    "bounds": (bounds.measure, flapping.measure, crowd.measure),
    "machines": (machines.measure,),
    "marks": (marks.measure,),
    "workload-clusters": (workload_clusters.measure,),
    "upgrade": (upgrade.measure,),
}


async def _measure(names: list[str]) -> list[Figure]:
    """Run each measurement on servers of its own, one after the other."""
    figures = []
    for measure in (one for name in names for one in MEASUREMENTS[name]):
        with tempfile.TemporaryDirectory(prefix="paramedic-bench-") as directory:
            async with bench_cluster(Path(directory)) as cluster:
                figures += await measure(cluster)
    return figures


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(MEASUREMENTS))
    if unknown:
        sys.stderr.write(f"bench knows {', '.join(MEASUREMENTS)}, not {', '.join(unknown)}\n")
        return 2
    keep_full_collections_short()  # as our processes do
    figures = asyncio.run(_measure(names or list(MEASUREMENTS)))
    sys.stdout.write(table(figures) + "\n")
    return int(any(figure.verdict == "SHORT" for figure in figures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
