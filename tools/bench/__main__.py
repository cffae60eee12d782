"""`python -m bench [NAME ...]`: measure, print a table; exit code 0 if all goals are met."""

import asyncio
import sys
import tempfile
from pathlib import Path

from bench import bounds, clusterapi, limits, machines, nodes, upgrade
from bench.cluster import bench_cluster
from bench.figure import Figure, measured, table
from runtime.process import keep_full_collections_short

SCENARIOS = (
    nodes.requests,
    nodes.latency,
    nodes.storm,
    nodes.outage,
    nodes.large,
    nodes.hundred_thousand,
    nodes.actions,
    bounds.bounds,
    limits.limits,
    clusterapi.flapping,
    nodes.crowd,
    machines.machines,
    clusterapi.marks,
    clusterapi.workload_clusters,
    upgrade.upgrade,
)
"""Those of one name run together."""
ALONE = "nodes"
"""Runs only by its name: it takes ten minutes and 12 GB."""


async def _measure(names: list[str]) -> list[Figure]:
    """Run each scenario on servers of its own, one after the other."""
    figures = []
    for scenario in SCENARIOS:
        if scenario.name in names or (not names and scenario.name != ALONE):
            with tempfile.TemporaryDirectory(prefix="paramedic-bench-") as directory:
                async with bench_cluster(Path(directory)) as cluster:
                    figures += await measured(scenario, cluster)
    return figures


def main(names: list[str]) -> int:
    known = list(dict.fromkeys(scenario.name for scenario in SCENARIOS))
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.stderr.write(f"bench knows {', '.join(known)}, not {', '.join(unknown)}\n")
        return 2
    keep_full_collections_short()  # as our processes do
    figures = asyncio.run(_measure(names))
    sys.stdout.write("\n".join(table(figures)) + "\n")
    return int(not all(figure.is_met for figure in figures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
