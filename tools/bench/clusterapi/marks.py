"""Measures the marks of Machines in workload clusters: of 1,000 in one, and of 5,000 in 20."""

import asyncio
import time

from bench.cluster import BenchCluster
from bench.clusterapi.fleet import TEMPLATE_REFERENCE, WorkloadFleet, gap, machine_of, workload_fleet
from bench.figure import Figure, latencies, percentile
from bench.large import PADDING
from bench.usage import cpu_seconds, resident_megabytes

CLUSTER = "workload"
MACHINES_IN_ALL = 1_000
SECOND_FAILURES = 20
SAMPLES, WARM_UP = 100, 5
CLUSTERS = [f"workload-{number}" for number in range(20)]
SHARED = 249
MACHINES_OF_CLUSTERS = len(CLUSTERS) * (SHARED + 1)
FIRST_REPORTED = 500
"""The number of Machines reported healthy when the first one fails."""
SETTLED_SECONDS = 10.0


async def measure_marks(cluster: BenchCluster) -> list[Figure]:
    """1,000 Machines: all are reported healthy, a second request comes beside a first one, then marks.

    The check has a template until marks are measured.
    """
    async with workload_fleet(cluster) as fleet:
        await fleet.nodes.add(MACHINES_IN_ALL)
        await fleet.add_template()
        await fleet.add_cluster(CLUSTER, fleet.nodes.names)
        await fleet.edit_remediation(CLUSTER, {"templateRef": TEMPLATE_REFERENCE})
        began = time.monotonic()
        await cluster.start("detector", "worker")
        await fleet.until_reported_healthy(MACHINES_IN_ALL)
        all_reported_after = max(fleet.reported_healthy.values()) - began
        second = await _second_requests(fleet)
        await fleet.edit_remediation(CLUSTER, None)
        marks = await _marks(fleet)
    return [
        Figure("start to 1,000 Machines reported healthy", all_reported_after, unit="s"),
        Figure(
            "second failure to its request while a first one exists, longest of 20",
            second,
            unit="s",
            goal=1,
            reference="29.8 s",
        ),
        *latencies("failure to mark, 1,000 Machines", marks, goals=(None, 1), reference="at least 15 s"),
    ]


async def _second_requests(fleet: WorkloadFleet) -> float:
    """Each Node recovers before the next one fails; the first request stays, as no remediator runs."""
    first, *others = fleet.nodes.names[: SECOND_FAILURES + 1]
    await _requested(fleet, first)
    samples = []
    for node in others:
        samples.append(await _requested(fleet, node))
        await _mend(fleet, node)
        await gap()
    await _mend(fleet, first)
    return max(samples)


async def _requested(fleet: WorkloadFleet, node: str) -> float:
    """The seconds from the write of a Node's status until its Machine has a request."""
    machine, began = machine_of(CLUSTER, node), time.monotonic()
    await fleet.nodes.set_ready(node, "Unknown")
    await fleet.nodes.until_requested([machine])
    return fleet.nodes.came[machine] - began


async def _mend(fleet: WorkloadFleet, node: str) -> None:
    await fleet.nodes.set_ready(node, "True")
    await fleet.nodes.until_clean([machine_of(CLUSTER, node)])


async def _marks(fleet: WorkloadFleet) -> list[float]:
    samples = []
    for node in fleet.nodes.names[-(WARM_UP + SAMPLES) :]:
        samples.append(await fleet.time_to_mark(CLUSTER, node))
        await gap()
    return samples[WARM_UP:]


async def measure_workload_clusters(cluster: BenchCluster) -> list[Figure]:
    """Fail one Machine of each of 20 Clusters while most are not reported healthy yet.

    One real workload cluster is published as 20 Clusters, because 20 real ones do not fit on a laptop. The
    detector has as many Secrets, connections and watches as for 20, and a copy of all Nodes for each. A
    Cluster has Machines for 249 Nodes, which it shares with all others, and for a Node of its own, which
    fails; so each copy has 269 Nodes.
    """
    async with workload_fleet(cluster) as fleet:
        await fleet.nodes.add(SHARED + len(CLUSTERS), PADDING)
        for name, own in _own_nodes(fleet).items():
            await fleet.add_cluster(name, [*fleet.nodes.names[:SHARED], own])
        began = time.monotonic()
        await cluster.start("detector", "worker")
        await fleet.until_reported_healthy(FIRST_REPORTED)
        marks = await _marks_in_clusters(fleet)
        reported_before = len(fleet.reported_healthy)
        await fleet.until_reported_healthy(MACHINES_OF_CLUSTERS - len(CLUSTERS))
        all_reported_after = max(fleet.reported_healthy.values()) - began
        await asyncio.sleep(SETTLED_SECONDS)
        resident = resident_megabytes(cluster.pid("detector"))
        spent = cpu_seconds(cluster.pid("detector"))
    return [
        Figure("detector memory, 20 workload clusters of 269 Nodes of 16 KB", resident, unit="MB", goal=200),
        Figure("start to 5,000 Machines reported healthy", all_reported_after, unit="s"),
        Figure("CPU of the detector until then", spent, unit="s"),
        Figure("failure to mark meanwhile, first in each cluster, p50", percentile(marks, 0.5), unit="s"),
        Figure("failure to mark meanwhile, first in each cluster, longest of 20", max(marks), unit="s"),
        Figure("Machines reported healthy when the last failed one was marked", reported_before),
    ]


def _own_nodes(fleet: WorkloadFleet) -> dict[str, str]:
    return dict(zip(CLUSTERS, fleet.nodes.names[SHARED:], strict=True))


async def _marks_in_clusters(fleet: WorkloadFleet) -> list[float]:
    samples = []
    for name, own in _own_nodes(fleet).items():
        samples.append(await fleet.time_to_mark(name, own))
        await gap()
    return samples
