"""`python -m bench [NAME ...]`: measure, print a table; exit code 0 if all goals are met."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench import bounds, large, machines, nodes, one_remediation, outage, strain, upgrade
from bench.cluster import BenchCluster, bench_cluster
from bench.clusterapi import marks
from bench.figure import Figure, table
from runtime.process import keep_full_collections_short

Measure = Callable[[BenchCluster], Awaitable[list[Figure]]]

MEASUREMENTS: dict[str, tuple[Measure, ...]] = {
    "requests": (one_remediation.measure_requests,),
    "latency": (one_remediation.measure_latency,),
    "storm": (outage.measure_storm,),
    "outage": (outage.measure_outage,),
    "large": (large.measure,),
    "nodes": (nodes.measure,),
    "actions": (one_remediation.measure_actions,),
    "bounds": (bounds.measure, strain.measure_flapping, strain.measure_crowd),
    "machines": (machines.measure,),
    "marks": (marks.measure_marks,),
    "workload-clusters": (marks.measure_workload_clusters,),
    "upgrade": (upgrade.measure,),
}


ALONE = "nodes"
"""Runs only by its name: it takes ten minutes and 12 GB."""


async def _measure(names: list[str]) -> list[Figure]:
    """Run each measurement on servers of its own, one after the other."""
    figures = []
    for measure in (measure for name in names for measure in MEASUREMENTS[name]):
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
    figures = asyncio.run(_measure(names or [name for name in MEASUREMENTS if name != ALONE]))
    sys.stdout.write(table(figures) + "\n")
    return int(any(figure.verdict == "SHORT" for figure in figures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
