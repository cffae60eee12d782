"""Fleet: nodes, the check for them, and the times at which their requests come and go."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from bench.cluster import BenchCluster
from devcluster.polling import until
from devcluster.simulation.resources import NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from kube.client import Client
from kube.record import Change, ChangeKind, RecordT
from kube.reflector import Reflector
from kube.resource import NODES, Object, Resource
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata
from objects.timestamps import stamp

CHECK, NAMESPACE = "bench", "default"
TEMPLATE = {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": CHECK}
"""The reference to the template of a fleet."""
AT_ONCE = 50
WARM_UP = 5
SETTLED_SECONDS = 3.0
PATIENCE = timedelta(minutes=3)
LONG_AGO = timedelta(hours=1)
DURATION_SECONDS = 1
"""How long a node fails before the checks call it expired; it begins when the detector sees the failure."""


class AnyObject(FrozenObject):
    """The part of an object that a watch keeps."""

    metadata: ObjectMetadata


class Times(dict[str, float]):
    """When something first happened to each of some objects, by the monotonic clock."""

    def note(self, name: str) -> None:
        self.setdefault(name, time.monotonic())

    async def until_all(self, names: Sequence[str], within: timedelta = PATIENCE) -> None:
        """Return when it has happened to all of them."""

        async def have_all() -> bool:
            return all(name in self for name in names)

        await until(have_all, within=within, otherwise=f"a watch did not see all of {len(names)} objects")


class Fleet:
    """The nodes of one scenario, which may be in another cluster than their check."""

    def __init__(self, cluster: BenchCluster, home: Client | None = None) -> None:
        """`home` is the client of the cluster with the nodes; by default that of `cluster`."""
        self.cluster = cluster
        self.names: list[str] = []
        self.came, self.went = Times(), Times()
        """The requests that were created, and deleted, by the name of their target."""
        self._home = home or cluster.client
        self._limit = asyncio.Semaphore(AT_ONCE)
        self._since = stamp(datetime.now(UTC) - LONG_AGO)
        """The transition time of every condition; heartbeats must not change it."""

    async def create(
        self, resource: Resource, name: str, spec: Object, *, status: Object | None = None, **metadata: object
    ) -> Object:
        """Create an object in the cluster of the check, and write its status; some at a time."""
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        namespace = NAMESPACE if resource.namespaced else ""
        async with self._limit:
            body = {**kind, "metadata": {"name": name, **metadata}, "spec": spec}
            made = await self.cluster.client.create(resource, body, namespace)
            if status is not None:
                await self.cluster.client.merge_patch(resource, name, {"status": status}, namespace, "status")
        return made

    async def grow_to(self, count: int, padding: int = 0) -> list[str]:
        """Add healthy nodes until there are `count`; `padding` bytes make each as large as a real Node."""
        added = [f"node-{number}" for number in range(len(self.names), count)]
        annotations = {"bench/padding": "x" * padding}
        status = {"conditions": [self._ready("True")]}

        async def add(name: str) -> None:
            metadata = {"name": name, "labels": {"bench": "yes"}, "annotations": annotations}
            async with self._limit:
                await self._home.create(NODES, {"metadata": metadata, "status": status})

        await asyncio.gather(*map(add, added))
        self.names += added
        return added

    async def add_template(self) -> None:
        await self.create(TEMPLATES, CHECK, {"template": {"spec": {}}})

    async def add_check(self, max_unhealthy: str = "100%") -> None:
        """Add a check with a condition that has expired when it is seen, and its template."""
        await self.add_template()
        spec = {
            "selector": {"matchLabels": {"bench": "yes"}},
            "maxUnhealthy": max_unhealthy,
            "unhealthyConditions": [
                {"type": "Ready", "status": "Unknown", "duration": f"{DURATION_SECONDS}s"}
            ],
            "remediationTemplate": {**TEMPLATE, "namespace": NAMESPACE},
        }
        await self.create(NODE_HEALTH_CHECKS, CHECK, spec)

    def _ready(self, status: str) -> Object:
        now = stamp(datetime.now(UTC))
        times = {"lastTransitionTime": self._since, "lastHeartbeatTime": now}
        return {"type": "Ready", "status": status, **times}

    async def set_ready(self, nodes: Sequence[str], status: str) -> float:
        """Write the Ready condition of nodes at once; when that began, by the monotonic clock."""

        async def write(node: str) -> None:
            patch = {"status": {"conditions": [self._ready(status)]}}
            async with self._limit:
                await self._home.merge_patch(NODES, node, patch, subresource="status")

        began = time.monotonic()
        await asyncio.gather(*map(write, nodes))
        return began

    async def heartbeats(self, nodes: Sequence[str], seconds: float, per_second: float) -> int:
        """Write statuses that differ only in the heartbeat time, evenly distributed; how many there were."""
        began, count = time.monotonic(), int(seconds * per_second)
        for number in range(count):
            due = began + number / per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self.set_ready([nodes[number % len(nodes)]], "True")
        return count

    async def fail(self, nodes: Sequence[str], times: Times, targets: Sequence[str] | None = None) -> float:
        """Let nodes fail at once; the seconds from the end of the duration until all targets are in `times`.

        The targets have the names of the nodes by default.
        """
        began, expected = await self.set_ready(nodes, "Unknown"), targets or nodes
        await times.until_all(expected)
        return max(times[name] for name in expected) - began - DURATION_SECONDS

    async def mend(self, nodes: Sequence[str], targets: Sequence[str] | None = None) -> float:
        """Let nodes recover at once; the seconds until the last request is gone."""
        began, expected = await self.set_ready(nodes, "True"), targets or nodes
        await self.went.until_all(expected)
        return max(self.went[name] for name in expected) - began

    async def remediate(self, nodes: Sequence[str]) -> tuple[float, float]:
        """Let nodes fail and recover: the seconds to the last request, and to its removal."""
        came = await self.fail(nodes, self.came)
        await asyncio.sleep(SETTLED_SECONDS)
        return came, await self.mend(nodes)

    async def samples(self, nodes: Sequence[str], times: Times) -> list[float]:
        """Let one node fail after the other, the first ones to warm up; the seconds of each."""
        found = []
        for node in nodes:
            found.append(await self.fail([node], times))
            await pause()
        return found[WARM_UP:]

    def note(self, change: Change[AnyObject]) -> None:
        """Record when a request comes and goes, as the handler of the watch."""
        if change.kind is ChangeKind.ADDED:
            self.came.note(change.key.name)
        elif change.kind is ChangeKind.DELETED:
            self.went.note(change.key.name)


async def pause() -> None:
    """Wait a random time, so that failures do not keep step with our processes."""
    await asyncio.sleep(random.uniform(0.1, 0.6))  # noqa: S311  spreads failures


@asynccontextmanager
async def watched_fleet(cluster: BenchCluster, home: Client | None = None) -> AsyncIterator[Fleet]:
    """A fleet without nodes, whose requests are watched while the block runs."""
    fleet = Fleet(cluster, home)
    async with watched(cluster, REQUESTS, AnyObject, fleet.note):
        yield fleet


@asynccontextmanager
async def watched(
    cluster: BenchCluster,
    resource: Resource,
    record: type[RecordT],
    note: Callable[[Change[RecordT]], None],
) -> AsyncIterator[None]:
    """Watch the objects of a kind in the cluster of the check while the block runs."""
    reflector = Reflector(cluster.transport, resource, record, notify=note)
    async with running(reflector.run()):
        await reflector.wait_synced()
        yield


@asynccontextmanager
async def running(endless: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Run a task while the block runs, and cancel it at the end."""
    task = asyncio.create_task(endless)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
