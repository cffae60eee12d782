"""Counts calls of our processes to Temporal by the SDK's metrics, without polls for work."""

from collections.abc import Mapping

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from bench.cluster import BenchCluster
from devcluster.layout import allocate

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
    """The calls of both processes, which are started with `environments`."""

    def __init__(self, cluster: BenchCluster) -> None:
        ports = allocate(cluster.layout.directory / "temporal-metrics.json", PROCESSES)
        self._addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items()}

    @property
    def environments(self) -> Mapping[str, Mapping[str, str]]:
        variable = "PARAMEDIC_TEMPORAL_METRICS_ADDRESS"
        return {name: {variable: address} for name, address in self._addresses.items()}

    async def count(self) -> float:
        return sum([await _requests(address) for address in self._addresses.values()])


async def _requests(address: str) -> float:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/metrics") as answer:
        families = text_string_to_metric_families(await answer.text())
    samples = [one for family in families for one in family.samples if one.name == REQUESTS]
    return sum(one.value for one in samples if one.labels["operation"] not in UPKEEP)
