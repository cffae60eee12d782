"""Counts calls of our processes to Temporal by the SDK's metrics, without polls for work."""

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from bench.cluster import BenchCluster

REQUESTS = "temporal_request_total"
UPKEEP = frozenset(
    {
        "Check",
        "CountWorkflowExecutions",
        "DescribeNamespace",
        "DescribeTaskQueue",
        "DescribeWorkflowExecution",
        "GetSystemInfo",
        "ListSearchAttributes",
        "ListWorkflowExecutions",
        "RecordWorkerHeartbeat",
    }
)
"""Calls that a process makes without any work: to check that Temporal answers, is set up and is polled,
and to list open workflows."""
PROCESSES = ("detector", "worker")


class TemporalRequests:
    """The calls of both processes of a cluster."""

    def __init__(self, cluster: BenchCluster) -> None:
        self._addresses = [cluster.layout.address(name) for name in PROCESSES]

    async def count(self) -> float:
        return sum([await _requests(address) for address in self._addresses])


async def _requests(address: str) -> float:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/metrics") as answer:
        families = text_string_to_metric_families(await answer.text())
    samples = [one for family in families for one in family.samples if one.name == REQUESTS]
    return sum(one.value for one in samples if one.labels["operation"] not in UPKEEP)
