"""Counts the Temporal actions of one remediation in its history, and workflows of a healthy cluster."""

import asyncio

from temporalio.api.enums.v1 import EventType

from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import watched_fleet

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


async def measure(cluster: BenchCluster) -> list[Figure]:
    """Wait while all nodes are healthy, then remediate one."""
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
        Figure(name="Temporal actions of one remediation", measured=counted, goal=9, unit=""),
        Figure(name="workflows while all is healthy", measured=idle, goal=0, unit=""),
    ]
