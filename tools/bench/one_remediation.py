"""Measures one remediation: our requests to the API server, its latency, and its Temporal actions."""

import asyncio
import json
import time
from collections import Counter
from datetime import timedelta

from temporalio.api.enums.v1 import EventType

from bench.cluster import BenchCluster
from bench.figure import Figure, latencies
from bench.fleet import BenchFleet, watched_fleet
from bench.usage import OURS
from devcluster.polling import until
from runtime.process_names import NAMESPACE

QUIET = timedelta(seconds=3)
GOAL = 15
"""One more than before clean_up read the request that it deletes (ADR 42)."""


async def measure_requests(cluster: BenchCluster, sizes: tuple[int, ...] = (10, 1000)) -> list[Figure]:
    """Count our requests in the audit log, at each cluster size; a first remediation warms up discovery."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(sizes[0])
        await fleet.add_check()
        await cluster.start("detector", "worker")
        await _requests_of_one(fleet, fleet.names[0])
        figures = []
        for number, size in enumerate(sizes, 1):
            await fleet.add(size - len(fleet.names))
            counted = await _requests_of_one(fleet, fleet.names[number])
            name = f"API requests for one remediation, {size:,} nodes"
            figures.append(Figure(name, counted, goal=GOAL, reference=f"{5 * size + 28:,}"))
    return figures


async def _requests_of_one(fleet: BenchFleet, node: str) -> int:
    await _until_quiet(fleet)
    before = _count(fleet)
    await fleet.set_ready(node, "Unknown")
    await fleet.until_requested([node])
    await _until_quiet(fleet)
    await fleet.set_ready(node, "True")
    await fleet.until_clean([node])
    await _until_quiet(fleet)
    return _count(fleet) - before


async def _until_quiet(fleet: BenchFleet) -> None:
    """Return when we have sent no request for a while."""
    counts = [-1]

    async def is_quiet() -> bool:
        counts.append(_count(fleet))
        await asyncio.sleep(QUIET.total_seconds())
        return counts[-1] == _count(fleet)

    await until(is_quiet, within=timedelta(minutes=1), otherwise="the API server never was quiet")


def _count(fleet: BenchFleet) -> int:
    """The requests so far, without those that no remediation causes.

    Those are lists, watches, requests for objects of our own processes, and discovery, which names no object.
    """
    verbs: Counter[str] = Counter()
    for line in fleet.cluster.audit_log.read_text().splitlines():
        event = json.loads(line)
        where = event.get("objectRef")
        is_ours = event["user"]["username"].startswith(OURS)
        if is_ours and where is not None and where.get("namespace") != NAMESPACE:
            verbs[event["verb"]] += 1
    return sum(count for verb, count in verbs.items() if verb not in ("list", "watch"))


NODES_IN_ALL = 1000
SAMPLES = 100
PAUSE_SECONDS = 0.3


async def measure_latency(cluster: BenchCluster) -> list[Figure]:
    """Fail one node after the other, with a condition that is over; the time begins before its write."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(NODES_IN_ALL)
        await fleet.add_check()
        await cluster.start("detector", "worker")
        samples = []
        for node in fleet.names[: SAMPLES + 5]:
            began = time.monotonic()
            await fleet.set_ready(node, "Unknown")
            await fleet.until_requested([node])
            samples.append(fleet.came[node] - began)
            await asyncio.sleep(PAUSE_SECONDS)
    samples = samples[5:]  # without the warm-up
    return latencies("failure to request, 1,000 nodes", samples, goals=(0.3, 0.6), reference="1.36 s")


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
HEALTHY_SECONDS = 20.0


async def measure_actions(cluster: BenchCluster) -> list[Figure]:
    """Count workflows while all nodes are healthy, then the actions in the history of one remediation."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(10)
        await fleet.add_check()
        await cluster.start("detector", "worker")
        await asyncio.sleep(HEALTHY_SECONDS)
        idle = (await cluster.temporal.count_workflows("")).count
        node = fleet.names[0]
        await fleet.set_ready(node, "Unknown")
        await fleet.until_requested([node])
        await fleet.set_ready(node, "True")
        workflow_id = (await fleet.incident(node)).workflow_id
        handle = cluster.temporal.get_workflow_handle(workflow_id)
        await handle.result()
        history = await handle.fetch_history()
    counted = sum(event.event_type in ACTIONS for event in history.events)
    return [
        Figure("Temporal actions of one remediation", counted, goal=9),
        Figure("workflows while all is healthy", idle, goal=0),
    ]
