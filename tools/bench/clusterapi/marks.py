"""1,000 Machines of a workload cluster: all reported healthy, a second request beside a first one, marks."""

import time

from bench.cluster import BenchCluster
from bench.clusterapi.fleet import TEMPLATE_REFERENCE, WorkloadFleet, gap, machine_of, workload_fleet
from bench.figure import Figure, percentile

CLUSTER = "workload"
MACHINES_IN_ALL = 1_000
SECOND_FAILURES = 20
SAMPLES, WARM_UP = 100, 5


async def measure(cluster: BenchCluster) -> list[Figure]:
    """Measure with a template in the check; remove it before marks are measured."""
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
        Figure(name="start to 1,000 Machines told healthy", measured=all_reported_after, goal=None, unit="s"),
        Figure(
            name="second failure to its request while a first one exists, longest of 20",
            measured=second,
            goal=1,
            unit="s",
            reference="29.8 s",
        ),
        Figure(
            name="failure to mark, 1,000 Machines, p50",
            measured=percentile(marks, 0.5),
            goal=None,
            unit="s",
            reference="at least 15 s",
        ),
        Figure(
            name="failure to mark, 1,000 Machines, p99",
            measured=percentile(marks, 0.99),
            goal=1,
            unit="s",
            reference="at least 15 s",
        ),
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
