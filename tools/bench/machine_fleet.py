"""MachineFleet: Machines on the nodes of a Fleet, a check for them, and a watch that records deletions."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from bench.cluster import BenchCluster
from bench.fleet import AT_ONCE, CHECK, PATIENCE, TEMPLATES, BenchFleet, running, watched_fleet
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
