"""Reads the usage of our processes: CPU time, memory, calls to Temporal, requests to the API server.

CPU time and memory come from /proc, on Linux only; calls to Temporal from the metrics of the SDK, without
polls for work; requests from the audit log of the API server.
"""

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from bench.cluster import BenchCluster
from objects.group_kind import ServedKind
from runtime.process_names import NAMESPACE

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """The user and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


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
    samples = [sample for family in families for sample in family.samples if sample.name == REQUESTS]
    return sum(sample.value for sample in samples if sample.labels["operation"] not in UPKEEP)


OURS = "system:serviceaccount:paramedic-system:"
WRITES = ("create", "update", "patch", "delete")


class ObjectRequest(NamedTuple):
    """A request for one object, or for its subresource."""

    verb: str
    name: str
    subresource: str


def writes_since(cluster: BenchCluster, since: datetime) -> int:
    """Our writes since then, without those of leader Leases and of our own status."""
    events = _ours_since(cluster, since)
    places = [event.get("objectRef", {}).get("namespace") for event in events if event["verb"] in WRITES]
    return sum(place != NAMESPACE for place in places)


def requests_for(cluster: BenchCluster, kind: ServedKind, since: datetime) -> list[ObjectRequest]:
    """Our requests for objects of a kind since then, with any answer; lists and watches have no name."""
    objects = [
        event["objectRef"] | {"verb": event["verb"]}
        for event in _ours_since(cluster, since)
        if "objectRef" in event
    ]
    return [
        ObjectRequest(request["verb"], request.get("name", ""), request.get("subresource", ""))
        for request in objects
        if (request.get("apiGroup", ""), request["resource"]) == (kind.group, kind.plural)
    ]


def _ours_since(cluster: BenchCluster, since: datetime) -> Iterator[dict[str, Any]]:
    for line in cluster.audit_log.read_text().splitlines():
        event = json.loads(line)
        is_late = datetime.fromisoformat(event["requestReceivedTimestamp"]) > since
        if is_late and event["user"]["username"].startswith(OURS):
            yield event
