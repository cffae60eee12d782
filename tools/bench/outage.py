"""Measures nodes that fail at once: in a storm of 100, and in an outage of 1,000 that a threshold holds."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import aiohttp

from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import CHECK, BenchFleet, watched_fleet
from bench.usage import cpu_seconds, writes_since
from devcluster.polling import until
from devcluster.processes import ready_url
from devcluster.simulation.resources import NODE_HEALTH_CHECKS

IN_STORM, FAIL_IN_STORM = 500, 100
STORM_SETTLED_SECONDS = 3.0
NODES_IN_ALL = 5_000
FAILING = 1_000
SETTLED_SECONDS = 10.0
QUIET_SECONDS = 60.0
HELD = "paramedic_holds{"
PATIENCE = timedelta(minutes=3)
SELDOM = timedelta(seconds=0.5)
"""Rarely, because counting a thousand workflows is work for the measured server."""


async def measure_storm(cluster: BenchCluster) -> list[Figure]:
    """100 of 500 nodes fail and recover at once, after one remediation as a warm-up."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(IN_STORM)
        await fleet.add_check()
        await cluster.start("detector", "worker")
        await _one(fleet, fleet.names[-1])
        before = {name: cpu_seconds(cluster.pid(name)) for name in ("worker", "detector", "temporal")}
        nodes = fleet.names[:FAIL_IN_STORM]
        failed = await fleet.set_all_ready(nodes, "Unknown")
        await fleet.until_requested(nodes)
        await asyncio.sleep(STORM_SETTLED_SECONDS)
        recovered = await fleet.set_all_ready(nodes, "True")
        await fleet.until_clean(nodes)
        await asyncio.sleep(STORM_SETTLED_SECONDS)
        spent = {name: cpu_seconds(cluster.pid(name)) - was for name, was in before.items()}
    last_came = max(fleet.came[node] for node in nodes) - failed
    last_went = max(fleet.went[node] for node in nodes) - recovered
    return [
        Figure("100 of 500 fail, to the last request", last_came, unit="s", goal=3, reference="10 s"),
        Figure(
            "100 of 500 recover, to the last request gone",
            last_went,
            unit="s",
            goal=3,
            reference="6.7 to 29 s",
        ),
        *(
            Figure(f"CPU of {name} per incident", 1000 * seconds / FAIL_IN_STORM, unit="ms")
            for name, seconds in spent.items()
        ),
    ]


async def _one(fleet: BenchFleet, node: str) -> None:
    await fleet.set_ready(node, "Unknown")
    await fleet.until_requested([node])
    await fleet.set_ready(node, "True")
    await fleet.until_clean([node])


async def measure_outage(cluster: BenchCluster) -> list[Figure]:
    """The same 1,000 of 5,000 nodes fail twice: beyond the threshold, where all are held, then within it."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(NODES_IN_ALL)
        await fleet.add_check()
        await limit_unhealthy(cluster, "0%")
        await cluster.start("detector", "worker")
        nodes = fleet.names[:FAILING]
        failed = await fleet.set_all_ready(nodes, "Unknown")
        await until_all_are_held(fleet, nodes)
        held = time.monotonic() - failed
        await asyncio.sleep(SETTLED_SECONDS)
        since = datetime.now(UTC)
        await asyncio.sleep(QUIET_SECONDS)
        writes = writes_since(cluster, since)
        await fleet.set_all_ready(nodes, "True")
        await _until_running(cluster, 0)
        await limit_unhealthy(cluster, "50%")
        failed = await fleet.set_all_ready(nodes, "Unknown")
        await fleet.until_requested(nodes)
    last_came = max(fleet.came[node] for node in nodes) - failed
    return [
        Figure("1,000 of 5,000 fail, all held with the reason", held, unit="s", goal=15),
        Figure("writes a minute while short-circuited", writes, goal=0, reference="59 to 209 a second"),
        Figure("1,000 of 5,000 fail, to the last request", last_came, unit="s", goal=30),
    ]


async def limit_unhealthy(cluster: BenchCluster, share: str) -> None:
    """Let the check allow remediation while no more than this share is unhealthy."""
    spec = {"minHealthy": None, "maxUnhealthy": share}
    await cluster.client.merge_patch(NODE_HEALTH_CHECKS, CHECK, {"spec": spec})


async def until_all_are_held(fleet: BenchFleet, nodes: list[str], patience: timedelta = PATIENCE) -> None:
    """Return when each node has an incident, and each incident is held with a reason."""
    await _until_running(fleet.cluster, len(nodes), patience)
    url = ready_url(fleet.cluster.layout, "detector").replace("/readyz", "/metrics")

    async def are_held() -> bool:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            text = await answer.text()
        held = [line for line in text.splitlines() if line.startswith(HELD)]
        return sum(float(line.rpartition(" ")[2]) for line in held) == len(nodes)

    await until(are_held, within=patience, otherwise="not every incident is held", every=SELDOM)


async def _until_running(cluster: BenchCluster, count: int, patience: timedelta = PATIENCE) -> None:
    async def are_running() -> bool:
        found = await cluster.temporal.count_workflows("ExecutionStatus = 'Running'")
        return found.count == count

    await until(are_running, within=patience, otherwise=f"not {count} incidents run", every=SELDOM)
