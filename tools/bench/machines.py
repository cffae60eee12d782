"""OpenShift's MachineHealthCheck: writes of a short-circuited check, a storm, and single deletions.

One fleet grows from 100 over 500 to 1,000 Machines; they and their Nodes are plain objects.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from bench.cluster import BenchCluster
from bench.figure import Figure, latencies
from bench.fleet import AT_ONCE, CHECK, PATIENCE, TEMPLATES, BenchFleet, running, watched_fleet
from bench.usage import writes_since
from devcluster.polling import until
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import Machine
from kube.record import Change
from kube.reflector import Reflector
from kube.resource import Object, Resource, resource_of
from objects.timestamps import stamp

CHECKS = resource_of(MACHINE_HEALTH_CHECK)
NAMESPACE = "default"
FINALIZER = "bench/hardware"


class MachineFleet:
    """Machines, each named as its Node, so that `fleet` finds their requests as those of Nodes."""

    def __init__(self, cluster: BenchCluster, fleet: BenchFleet) -> None:
        self.cluster = cluster
        self.fleet = fleet
        self.deleted: dict[str, float] = {}
        """The time at which the deletion of a Machine was seen, by the monotonic clock."""
        self._owner: Object = {}
        self._limit = asyncio.Semaphore(AT_ONCE)

    async def set_up(self, max_unhealthy: int) -> None:
        """Create an owner that never replaces a Machine, a template, and a check without a template."""
        client = self.cluster.client
        owner = _typed(MACHINE_SETS, {"replicas": 0})
        made = await client.create(MACHINE_SETS, owner, NAMESPACE)
        uid = made["metadata"]["uid"]
        self._owner = _reference(MACHINE_SETS) | {"uid": uid, "controller": True}
        await client.create(TEMPLATES, _typed(TEMPLATES, {"template": {"spec": {}}}), NAMESPACE)
        spec = {
            "maxUnhealthy": max_unhealthy,
            "nodeStartupTimeout": "0",
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "1s"}],
        }
        await client.create(CHECKS, _typed(CHECKS, spec), NAMESPACE)

    async def edit_check(self, **spec: object) -> None:
        """Change fields in the spec of the check."""
        await self.cluster.client.merge_patch(CHECKS, CHECK, {"spec": spec}, NAMESPACE)

    async def name_template(self) -> None:
        """Let the check request remediations instead of deleting Machines."""
        await self.edit_check(remediationTemplate=_reference(TEMPLATES))

    async def check_status(self) -> Object:
        check = await self.cluster.client.get(CHECKS, CHECK, NAMESPACE)
        status: Object = check.get("status", {})
        return status

    async def grow_to(self, count: int) -> None:
        """Add running Machines with healthy Nodes until there are `count`."""
        before = len(self.fleet.names)
        await self.fleet.add(count - before)
        await asyncio.gather(*(self._add(name) for name in self.fleet.names[before:]))

    async def _add(self, name: str) -> None:
        metadata = {"name": name, "finalizers": [FINALIZER], "ownerReferences": [self._owner]}
        body = {"apiVersion": MACHINES.api_version, "kind": MACHINES.kind, "metadata": metadata}
        now = stamp(datetime.now(UTC))
        status = {"phase": "Running", "nodeRef": {"kind": "Node", "name": name}, "lastUpdated": now}
        client = self.cluster.client
        async with self._limit:
            await client.create(MACHINES, body, NAMESPACE)
            await client.merge_patch(MACHINES, name, {"status": status}, NAMESPACE, "status")

    async def until_deleted(self, machine: str) -> None:
        """Return when a Machine is being deleted."""

        async def is_deleted() -> bool:
            return machine in self.deleted

        await until(is_deleted, within=PATIENCE, otherwise=f"{machine} was not deleted")

    async def let_go(self, machine: str) -> None:
        """Remove the finalizer of a Machine, as after its hardware is gone."""
        patch = {"metadata": {"finalizers": None}}
        await self.cluster.client.merge_patch(MACHINES, machine, patch, NAMESPACE)

    def note(self, change: Change[Machine]) -> None:
        """Record when a Machine is deleted, as the handler of the watch."""
        if change.new is not None and change.new.is_going:
            self.deleted.setdefault(change.key.name, time.monotonic())


@asynccontextmanager
async def watched_machines(cluster: BenchCluster) -> AsyncIterator[MachineFleet]:
    """A fleet without Machines, whose requests and deletions are watched while the block runs."""
    async with watched_fleet(cluster) as fleet:
        machines = MachineFleet(cluster, fleet)
        async with running(Reflector(cluster.transport, MACHINES, Machine, notify=machines.note)):
            yield machines


def _typed(resource: Resource, spec: Object) -> Object:
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return kind | {"metadata": {"name": CHECK}, "spec": spec}


def _reference(resource: Resource) -> dict[str, str]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "name": CHECK}


SHORT_CIRCUITED, STORMED, IN_ALL = 100, 500, 1_000
MAX_UNHEALTHY, UNHEALTHY = 0, 20
FAILING = 100
SAMPLES, WARM_UP = 100, 5
HEARTBEATS_PER_SECOND = 10
"""As of 100 kubelets that report every ten seconds."""
QUIET_SECONDS = 60.0
SETTLED_SECONDS = 10.0
PAUSE_SECONDS = 0.3
COUNTED_WITHIN = timedelta(minutes=2)


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
            "writes a second, check over 100 Machines short-circuited",
            held / QUIET_SECONDS,
            goal=0,
            reference="59 to 209",
        ),
        Figure(
            "writes per heartbeat, check over 100 healthy Machines",
            healthy / heartbeats,
            goal=0,
            reference="1",
        ),
    ]


async def _until_counted(machines: MachineFleet, healthy: int) -> None:
    async def is_counted() -> bool:
        return (await machines.check_status()).get("currentHealthy") == healthy

    await until(is_counted, within=COUNTED_WITHIN, otherwise=f"the check never counted {healthy} as healthy")


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
    return [Figure("100 of 500 Machines fail, to the last request", last_came, unit="s", goal=3)]


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
    return latencies("failure to deleted Machine, 1,000 Machines", samples, goals=(0.3, 0.6))
