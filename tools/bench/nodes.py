"""NodeHealthChecks: one remediation, storms, outages, and clusters of 10,000 and 100,000 Nodes."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from statistics import quantiles
from uuid import uuid4

import aiohttp
from temporalio.api.enums.v1 import EventType

from bench.cluster import PROCESSES, BenchCluster
from bench.figure import Goal, p50_and_p99, scenario
from bench.fleet import CHECK, DURATION_SECONDS, PATIENCE, WARM_UP, Fleet, watched_fleet
from bench.strain import STARTED_WITHIN, Strain, strain_goals
from devcluster.polling import until
from devcluster.processes import ready_url
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.cluster.global_stop import STOP
from health.model.references import CheckReference, IncidentReference, TargetReference
from kube.resource import NAMESPACES, NODES
from workflows import inspection_contracts
from workflows.contracts import detector_queue
from workflows.inspection_contracts import NameInput

QUIET = timedelta(seconds=3)
SETTLED_SECONDS = 10.0
PADDING = 15_500
"""Bytes that make a Node as large as 16 KB."""
LEASE_NAMESPACE = "medik8s-leases"
HELD = "paramedic_holds{"
SELDOM = timedelta(seconds=0.5)
"""Rarely, because counting a thousand workflows is work for the measured server."""
ACTIONS = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
        EventType.EVENT_TYPE_TIMER_STARTED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
        EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
    }
)


@asynccontextmanager
async def remediated_fleet(
    cluster: BenchCluster, nodes: int, max_unhealthy: str = "100%"
) -> AsyncIterator[Fleet]:
    """A fleet of healthy nodes with a check; detector and worker run."""
    async with watched_fleet(cluster) as fleet:
        await fleet.grow_to(nodes)
        await fleet.add_check(max_unhealthy)
        await cluster.start(*PROCESSES)
        yield fleet


@scenario(
    "requests",
    (
        Goal("API requests for one remediation, 10 nodes", 15),
        Goal("API requests for one remediation, 1,000 nodes", 15),
    ),
)
async def requests(cluster: BenchCluster, sizes: tuple[int, ...] = (10, 1_000)) -> list[float]:
    """Count our requests for one remediation at each size; a first remediation warms up discovery."""
    counts = []
    async with remediated_fleet(cluster, sizes[0]) as fleet:
        await fleet.remediate(fleet.names[:1])
        for number, size in enumerate(sizes, 1):
            await fleet.grow_to(size)
            await cluster.until_quiet(QUIET)
            since = datetime.now(UTC)
            await fleet.remediate([fleet.names[number]])
            await cluster.until_quiet(QUIET)
            counts.append(float(len(list(cluster.requests(since)))))
    return counts


@scenario(
    "latency",
    (
        Goal("failure to request, 1,000 nodes, p50", 0.3, "s"),
        Goal("failure to request, 1,000 nodes, p99", 0.6, "s"),
    ),
)
async def latency(cluster: BenchCluster, nodes: int = 1_000, samples: int = 100) -> list[float]:
    async with remediated_fleet(cluster, nodes) as fleet:
        found = await fleet.samples(fleet.names[: WARM_UP + samples], fleet.came)
    return [*p50_and_p99(found)]


@scenario(
    "storm",
    (
        Goal("100 of 500 fail, to the last request", 3, "s"),
        Goal("100 of 500 recover, to the last request gone", 3, "s"),
    ),
)
async def storm(cluster: BenchCluster, nodes: int = 500, failing: int = 100) -> list[float]:
    """Nodes fail and recover at once, after one remediation as a warm-up."""
    async with remediated_fleet(cluster, nodes) as fleet:
        await fleet.remediate(fleet.names[-1:])
        return [*await fleet.remediate(fleet.names[:failing])]


@scenario(
    "outage",
    (
        Goal("1,000 of 5,000 fail, all held with the reason", 15, "s"),
        Goal("writes a minute while short-circuited", 0),
        Goal("1,000 of 5,000 fail, to the last request", 30, "s"),
    ),
)
async def outage(
    cluster: BenchCluster, nodes: int = 5_000, failing: int = 1_000, quiet_seconds: float = 60
) -> list[float]:
    """The same nodes fail twice: beyond the threshold, where all are held, then within it."""
    async with remediated_fleet(cluster, nodes, max_unhealthy="0%") as fleet:
        failed = await fleet.set_ready(fleet.names[:failing], "Unknown")
        await _until_held(cluster, failing)
        held = time.monotonic() - failed - DURATION_SECONDS
        await asyncio.sleep(SETTLED_SECONDS)
        since = datetime.now(UTC)
        await asyncio.sleep(quiet_seconds)
        writes = cluster.writes(since)
        await fleet.set_ready(fleet.names[:failing], "True")
        await _until_running(cluster, 0)
        patch = {"spec": {"maxUnhealthy": "50%"}}
        await cluster.client.merge_patch(NODE_HEALTH_CHECKS, CHECK, patch)
        return [held, writes, await fleet.fail(fleet.names[:failing], fleet.came)]


async def _until_held(cluster: BenchCluster, count: int, within: timedelta = PATIENCE) -> None:
    """Return when that many incidents run, and each is held with a reason."""
    await _until_running(cluster, count, within)
    url = ready_url(cluster.layout, "detector").replace("/readyz", "/metrics")

    async def are_held() -> bool:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            text = await answer.text()
        held = [line for line in text.splitlines() if line.startswith(HELD)]
        return sum(float(line.rpartition(" ")[2]) for line in held) == count

    await until(are_held, within=within, otherwise="not every incident is held", every=SELDOM)


async def _until_running(cluster: BenchCluster, count: int, within: timedelta = PATIENCE) -> None:
    async def are_running() -> bool:
        found = await cluster.temporal.count_workflows("ExecutionStatus = 'Running'")
        return found.count == count

    await until(are_running, within=within, otherwise=f"not {count} incidents run", every=SELDOM)


@scenario(
    "large",
    (
        Goal("detector memory, 10,000 Nodes of 16 KB", 150, "MB"),
        Goal("CPU of the first sync, 10,000 Nodes", 2, "s"),
        Goal("CPU at 33 status updates a second", 2, "% of a core"),
    ),
)
async def large(cluster: BenchCluster, nodes: int = 10_000, seconds: float = 30) -> list[float]:
    """The CPU time of the first sync is that of a start, less that of a start in an empty cluster."""
    started = []
    async with watched_fleet(cluster) as fleet:
        await fleet.add_check()
        for count in (0, nodes):
            await fleet.grow_to(count, PADDING)
            await cluster.start("detector")
            await asyncio.sleep(SETTLED_SECONDS / 2)
            started.append(cluster.cpu_seconds("detector"))
            if not count:
                await cluster.supervisor.stop("detector")
        resident = cluster.resident_megabytes("detector")
        before = cluster.cpu_seconds("detector")
        await fleet.heartbeats(fleet.names, seconds, per_second=33)
        share = (cluster.cpu_seconds("detector") - before) / seconds
    return [resident, started[1] - started[0], 100 * share]


@scenario(
    "actions",
    (
        Goal("Temporal actions of one remediation", 9),
        Goal("workflows while all is healthy", 0),
    ),
)
async def actions(cluster: BenchCluster, healthy_seconds: float = 20) -> list[float]:
    """Count workflows while all nodes are healthy, then the actions in the history of one remediation."""
    async with remediated_fleet(cluster, 10) as fleet:
        await asyncio.sleep(healthy_seconds)
        idle = (await cluster.temporal.count_workflows("")).count
        node = fleet.names[0]
        await fleet.fail([node], fleet.came)
        await fleet.set_ready([node], "True")
        uid = (await cluster.client.get(NODES, node))["metadata"]["uid"]
        incident = IncidentReference(
            cluster=cluster.identity,
            check=CheckReference(kind="NodeHealthCheck", name=CHECK),
            target=TargetReference(kind="Node", name=node, uid=uid),
        )
        handle = cluster.temporal.get_workflow_handle(incident.workflow_id)
        await handle.result()
        history = await handle.fetch_history()
    return [sum(event.event_type in ACTIONS for event in history.events), idle]


@scenario(
    "nodes",
    (
        Goal("detector memory, 100,000 Nodes of 6 KB", 1_024, "MB"),
        Goal("start to the first complete read", 60, "s"),
        Goal("end of the duration to the request, p95", 0.3, "s"),
        *strain_goals("first read"),
        *strain_goals("failures one by one"),
        *strain_goals("1,000 failures at once"),
        *strain_goals("answers to explain and check"),
    ),
)
async def hundred_thousand(
    cluster: BenchCluster, nodes: int = 100_000, one_by_one: int = 60, at_once: int = 1_000
) -> list[float]:
    """A request is late by the time from the end of its duration, of a second, to its creation."""
    async with watched_fleet(cluster) as fleet:
        await fleet.grow_to(nodes, padding=5_500)
        await fleet.add_check()
        strain, began = Strain(cluster), time.monotonic()
        async with strain.load():
            await strain.start()
        synced, written = time.monotonic() - began, {}
        async with strain.load():
            for node in fleet.names[:one_by_one]:
                await fleet.set_ready([node], "Unknown")
                written[node] = time.monotonic()
                await asyncio.sleep(2)
            await fleet.came.until_all([*written])
        async with strain.load():
            await fleet.fail(fleet.names[one_by_one : one_by_one + at_once], fleet.came)
        async with strain.load():
            await _ask_leader(cluster, fleet.names[-1])
        resident = cluster.resident_megabytes("detector")
    late = [fleet.came[node] - at - DURATION_SECONDS for node, at in written.items()]
    return [resident, synced, quantiles(late, n=20)[-1], *strain.values]


async def _ask_leader(cluster: BenchCluster, node: str) -> None:
    """Ask the detector that leads, as `paramedic explain` and `paramedic check` do."""
    for contract, name in ((inspection_contracts.EXPLAIN, node), (inspection_contracts.CHECK, CHECK)):
        await cluster.temporal.execute_activity(
            contract.name,
            NameInput(name=name),
            id=f"bench/{uuid4().hex}",
            task_queue=detector_queue(cluster.identity),
            start_to_close_timeout=contract.start_to_close,
            schedule_to_close_timeout=contract.schedule_to_close,
            retry_policy=contract.retry,
        )


@scenario(
    "bounds",
    (
        *strain_goals("5,000 incidents begin"),
        *strain_goals("5,000 incidents are stopped and go on"),
    ),
)
async def crowd(cluster: BenchCluster, incidents: int = 5_000, settled_seconds: float = 20) -> list[float]:
    """Incidents begin together, and a stop of all checks has each judged anew."""
    async with watched_fleet(cluster) as fleet:
        await fleet.grow_to(incidents)
        await fleet.add_check(max_unhealthy="0%")
        strain = Strain(cluster)
        await strain.start()
        async with strain.load():
            await fleet.set_ready(fleet.names, "Unknown")
            await _until_held(cluster, incidents, STARTED_WITHIN)
        async with strain.load():
            for reason in ("bench", None):
                patch = {"metadata": {"annotations": {STOP: reason}}}
                await cluster.client.merge_patch(NAMESPACES, LEASE_NAMESPACE, patch)
                await asyncio.sleep(settled_seconds)
    return strain.values
