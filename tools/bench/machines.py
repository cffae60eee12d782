"""OpenShift's MachineHealthCheck: writes of a short-circuited check, a storm, and single deletions.

One fleet grows from 100 over 500 to 1,000 Machines; they and their Nodes are plain objects.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta

from bench.audit import writes_since
from bench.cluster import BenchCluster
from bench.figure import Figure, percentile
from bench.machine_fleet import MachineFleet, watched_machines
from devcluster.polling import until

SHORT_CIRCUITED, STORMED, IN_ALL = 100, 500, 1_000
MAX_UNHEALTHY, UNHEALTHY = 0, 20
FAILING = 100
SAMPLES, WARM_UP = 100, 5
HEARTBEATS_PER_SECOND = 10
"""As of 100 kubelets that report every ten seconds."""
QUIET_SECONDS = 60.0
SETTLED_SECONDS = 10.0
PAUSE_SECONDS = 0.3
PATIENCE = timedelta(minutes=2)


async def measure(cluster: BenchCluster) -> list[Figure]:
    """Run all three measurements, the smallest fleet first."""
    async with watched_machines(cluster) as machines:
        await machines.set_up(MAX_UNHEALTHY)
        await machines.grow_to(SHORT_CIRCUITED)
        await cluster.start("detector", "worker")
        figures = await _short_circuited(machines)
        await machines.name_template()
        await machines.edit_check(maxUnhealthy="100%")
        await machines.grow_to(STORMED)
        figures += await _storm(machines)
        await machines.edit_check(remediationTemplate=None)
        await machines.grow_to(IN_ALL)
        return figures + await _deletions(machines)


async def _short_circuited(machines: MachineFleet) -> list[Figure]:
    """Measure first with more unhealthy Machines than allowed, then with all healthy."""
    fleet = machines.fleet
    nodes = fleet.names[:UNHEALTHY]
    await fleet.set_all_ready(nodes, "Unknown")
    await _until_counted(machines, healthy=SHORT_CIRCUITED - UNHEALTHY)
    held, _ = await _writes_under_heartbeats(machines, fleet.names[UNHEALTHY:])
    await fleet.set_all_ready(nodes, "True")
    await _until_counted(machines, healthy=SHORT_CIRCUITED)
    healthy, heartbeats = await _writes_under_heartbeats(machines, fleet.names)
    return [
        Figure(
            name="writes a second, check over 100 Machines short-circuited",
            measured=held / QUIET_SECONDS,
            goal=0,
            unit="",
            reference="59 to 209",
        ),
        Figure(
            name="writes per heartbeat, check over 100 healthy Machines",
            measured=healthy / heartbeats,
            goal=0,
            unit="",
            reference="1",
        ),
    ]


async def _until_counted(machines: MachineFleet, healthy: int) -> None:
    async def is_counted() -> bool:
        return (await machines.check_status()).get("currentHealthy") == healthy

    await until(is_counted, within=PATIENCE, otherwise=f"the check never counted {healthy} as healthy")


async def _writes_under_heartbeats(machines: MachineFleet, nodes: list[str]) -> tuple[int, int]:
    """The number of our writes and of heartbeats in the measured time."""
    await asyncio.sleep(SETTLED_SECONDS)
    since, began = datetime.now(UTC), time.monotonic()
    count = int(QUIET_SECONDS * HEARTBEATS_PER_SECOND)
    for number in range(count):
        due = began + number / HEARTBEATS_PER_SECOND
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await machines.fleet.set_ready(nodes[number % len(nodes)], "True")
    return writes_since(machines.cluster, since), count


async def _storm(machines: MachineFleet) -> list[Figure]:
    """One storm, after one remediation as a warm-up."""
    fleet = machines.fleet
    warm_up, nodes = fleet.names[-1:], fleet.names[:FAILING]
    for failing in (warm_up, nodes):
        failed = await fleet.set_all_ready(failing, "Unknown")
        await fleet.until_requested(failing)
        await fleet.set_all_ready(failing, "True")
        await fleet.until_clean(failing)
    last_came = max(fleet.came[node] for node in nodes) - failed
    return [
        Figure(name="100 of 500 Machines fail, to the last request", measured=last_came, goal=3, unit="s")
    ]


async def _deletions(machines: MachineFleet) -> list[Figure]:
    """Fail one Node after the other; the time begins before the write of its status."""
    samples = []
    for name in machines.fleet.names[STORMED : STORMED + WARM_UP + SAMPLES]:
        began = time.monotonic()
        await machines.fleet.set_ready(name, "Unknown")
        await machines.until_deleted(name)
        samples.append(machines.deleted[name] - began)
        await machines.let_go(name)
        await asyncio.sleep(PAUSE_SECONDS)
    samples = samples[WARM_UP:]
    return [
        Figure(
            name="failure to deleted Machine, 1,000 Machines, p50",
            measured=percentile(samples, 0.5),
            goal=0.3,
            unit="s",
        ),
        Figure(
            name="failure to deleted Machine, 1,000 Machines, p99",
            measured=percentile(samples, 0.99),
            goal=0.6,
            unit="s",
        ),
    ]
