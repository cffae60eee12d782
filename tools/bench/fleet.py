"""BenchFleet: nodes, a check for them, and a watch that records when each request comes and goes."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from bench.cluster import BenchCluster
from devcluster.polling import until
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import RemediationRequest
from kube.client import Client
from kube.record import Change, ChangeKind, RecordT
from kube.reflector import Reflector
from kube.resource import NODES, Object, Resource
from objects.timestamps import stamp

GROUP, KIND = "demo.paramedic.dev/v1", "PowerCycleRemediation"
REQUESTS = Resource(GROUP, KIND, "powercycleremediations", namespaced=True)
TEMPLATES = Resource(GROUP, f"{KIND}Template", "powercycleremediationtemplates", namespaced=True)
CHECK = "bench"
AT_ONCE = 50
PATIENCE = timedelta(minutes=3)
LONG_AGO = timedelta(hours=1)


class BenchFleet:
    """The nodes of one measurement, and the times of their requests."""

    def __init__(self, cluster: BenchCluster, home: Client | None = None) -> None:
        self.cluster = cluster
        self.names: list[str] = []
        self._home = home or cluster.client
        """The client of the cluster with the nodes; by default that of `cluster`."""
        self.came: dict[str, float] = {}
        """The time at which the request of a node came, by the monotonic clock."""
        self.went: dict[str, float] = {}
        self._limit = asyncio.Semaphore(AT_ONCE)
        self._since = stamp(datetime.now(UTC) - LONG_AGO)
        """The transition time of every condition; heartbeats must not change it."""

    async def add(self, count: int, padding: int = 0) -> None:
        """Add healthy nodes; `padding` bytes make each as large as a real Node."""
        names = [f"node-{number}" for number in range(len(self.names), len(self.names) + count)]
        await asyncio.gather(*(self._add(name, padding) for name in names))
        self.names += names

    async def _add(self, name: str, padding: int) -> None:
        metadata: Object = {"name": name, "labels": {"bench": "yes"}}
        if padding:
            metadata["annotations"] = {"bench/padding": "x" * padding}
        status = {"conditions": [self._ready("True")]}
        async with self._limit:
            await self._home.create(NODES, {"metadata": metadata, "status": status})

    def _ready(self, status: str) -> Object:
        now = stamp(datetime.now(UTC))
        return {
            "type": "Ready",
            "status": status,
            "lastTransitionTime": self._since,
            "lastHeartbeatTime": now,
        }

    async def add_check(self) -> None:
        """Add a check that always allows remediation, with a condition that has expired when it is seen."""
        metadata = {"name": CHECK, "namespace": "default"}
        template = {"metadata": metadata, "spec": {"template": {"spec": {}}}}
        await self.cluster.client.create(TEMPLATES, _typed(TEMPLATES, template), "default")
        spec = {
            "selector": {"matchLabels": {"bench": "yes"}},
            "minHealthy": 0,
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "duration": "1s"}],
            "remediationTemplate": {"apiVersion": GROUP, "kind": TEMPLATES.kind, **metadata},
        }
        check = {"metadata": {"name": CHECK}, "spec": spec}
        await self.cluster.client.create(NODE_HEALTH_CHECKS, _typed(NODE_HEALTH_CHECKS, check))

    async def set_ready(self, node: str, status: str) -> None:
        """Write the Ready condition of a node, as if it had been so for an hour."""
        patch = {"status": {"conditions": [self._ready(status)]}}
        async with self._limit:
            await self._home.merge_patch(NODES, node, patch, subresource="status")

    async def set_all_ready(self, nodes: Sequence[str], status: str) -> float:
        """Write the condition of many nodes at once; the time of the first write."""
        began = time.monotonic()
        await asyncio.gather(*(self.set_ready(node, status) for node in nodes))
        return began

    async def until_requested(self, nodes: Sequence[str]) -> None:
        """Return when all of them have a request."""

        async def all_came() -> bool:
            return all(node in self.came for node in nodes)

        await until(all_came, within=PATIENCE, otherwise="not every node got its request")

    async def until_clean(self, nodes: Sequence[str]) -> None:
        """Return when none of them has a request."""

        async def all_went() -> bool:
            return all(node in self.went for node in nodes)

        await until(all_went, within=PATIENCE, otherwise="not every request was removed")

    async def incident(self, node: str) -> IncidentReference:
        uid = (await self._home.get(NODES, node))["metadata"]["uid"]
        return IncidentReference(
            cluster=self.cluster.identity,
            check=CheckReference(kind="NodeHealthCheck", name=CHECK),
            target=TargetReference(kind="Node", name=node, uid=uid),
        )

    def note(self, change: Change[RemediationRequest]) -> None:
        """Record when a request comes and goes, as the handler of the watch."""
        now = time.monotonic()
        if change.kind is ChangeKind.ADDED:
            self.came[change.key.name] = now
        elif change.kind is ChangeKind.DELETED:
            self.went[change.key.name] = now


@asynccontextmanager
async def watched_fleet(cluster: BenchCluster, home: Client | None = None) -> AsyncIterator[BenchFleet]:
    """A fleet without nodes, whose requests are watched while the block runs; for `home` see Fleet."""
    fleet = BenchFleet(cluster, home)
    async with running(Reflector(cluster.transport, REQUESTS, RemediationRequest, notify=fleet.note)):
        yield fleet


@asynccontextmanager
async def running(watch: Reflector[RecordT]) -> AsyncIterator[None]:
    """Watch while the block runs, which begins after the first list."""
    task = asyncio.create_task(watch.run())
    await watch.wait_synced()
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _typed(resource: Resource, body: Object) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}
