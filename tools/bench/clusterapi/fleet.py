"""WorkloadFleet: Machines of Cluster API in the management cluster, with Nodes in a workload cluster.

There is one workload cluster. It may be published as several Clusters, each with a Secret, Machines and a
check of its own: the detector connects to each, and keeps the Nodes of each. The owner of the Machines never
replaces them, so marks stay.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from bench.cluster import BenchCluster
from bench.fleet import AT_ONCE, CHECK, PATIENCE, TEMPLATES, BenchFleet, running, watched_fleet
from devcluster import assets, cluster_api_crds, control_plane
from devcluster.control_plane import ControlPlane
from devcluster.dev_cluster_api import NAMESPACE, ensure_cluster
from devcluster.layout import lay_out
from devcluster.polling import until
from devcluster.simulation.machine_api import CLUSTER_NAME, ClusterApi
from devcluster.workload_cluster import publish_kubeconfig
from health.kinds.clusterapi.machine import (
    HEALTH_CHECK_SUCCEEDED,
    INFRASTRUCTURE_READY,
    OWNER_REMEDIATED,
    Machine,
)
from kube.client import Client
from kube.record import Change
from kube.reflector import Reflector
from kube.resource import Object, Resource
from kube.transport import Transport
from objects.timestamps import stamp

API = ClusterApi("v1beta2")
TIMEOUT_SECONDS = 1
"""The timeout of the check; a failed Node looks as if it failed an hour ago."""
SHORTEST_GAP, LONGEST_GAP = 0.1, 0.6
TEMPLATE_REFERENCE = {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": CHECK}


class WorkloadFleet:
    """Machines, named after Nodes and Clusters, and the times at which their conditions changed."""

    def __init__(self, management: BenchCluster, workload: ControlPlane, nodes: BenchFleet) -> None:
        self.nodes = nodes
        self.marked: dict[str, float] = {}
        """The time at which a Machine was seen marked for its owner, by the monotonic clock."""
        self.reported_healthy: dict[str, float] = {}
        self._client = management.client
        self._workload = workload
        self._limit = asyncio.Semaphore(AT_ONCE)

    async def add_template(self) -> None:
        """Add the template for checks that request remediations."""
        await self._create(TEMPLATES, CHECK, {"template": {"spec": {}}})

    async def add_cluster(self, name: str, nodes: Sequence[str]) -> None:
        """Publish the workload cluster as a Cluster, with a check, and a Machine for each of these Nodes."""
        await ensure_cluster(self._client, API, name)
        await publish_kubeconfig(self._client, self._workload, name, NAMESPACE)
        owner = await self._create(API.machine_sets, name, _machine_set(name))
        reference = _controller(owner)
        await asyncio.gather(*(self._add_machine(name, node, reference) for node in nodes))
        await self._create(API.machine_health_checks, name, _check(name))

    async def edit_remediation(self, cluster: str, remediation: Object | None) -> None:
        """Change the remediation of a Cluster's check; None marks any number of Machines."""
        checks = API.machine_health_checks
        await self._client.merge_patch(checks, cluster, {"spec": {"remediation": remediation}}, NAMESPACE)

    async def until_reported_healthy(self, count: int) -> None:
        """Return when that many Machines report that they are healthy."""

        async def are_reported() -> bool:
            return len(self.reported_healthy) >= count

        await until(
            are_reported, within=PATIENCE, otherwise=f"fewer than {count} Machines were reported healthy"
        )

    async def time_to_mark(self, cluster: str, node: str) -> float:
        """Fail a Node; the seconds from the write of its status until its Machine is seen marked."""
        machine, began = machine_of(cluster, node), time.monotonic()
        await self.nodes.set_ready(node, "Unknown")

        async def is_marked() -> bool:
            return machine in self.marked

        await until(is_marked, within=PATIENCE, otherwise=f"{machine} was not marked")
        return self.marked[machine] - began

    def note(self, change: Change[Machine]) -> None:
        """Record the changes of a Machine, as the handler of the watch."""
        if change.new is None:
            return
        now, machine = time.monotonic(), change.new
        mark, health = machine.condition(OWNER_REMEDIATED), machine.condition(HEALTH_CHECK_SUCCEEDED)
        if mark is not None and mark.status == "False":
            self.marked.setdefault(change.key.name, now)
        if health is not None and health.is_true:
            self.reported_healthy.setdefault(change.key.name, now)

    async def _add_machine(self, cluster: str, node: str, owner: Object) -> None:
        name = machine_of(cluster, node)
        async with self._limit:
            await self._create(API.machines, name, {"clusterName": cluster}, _of(cluster, owner))
            status = {"phase": "Running", "nodeRef": {"name": node}, "conditions": [_infrastructure()]}
            await self._client.merge_patch(API.machines, name, {"status": status}, NAMESPACE, "status")

    async def _create(
        self, resource: Resource, name: str, spec: Object, metadata: Object | None = None
    ) -> Object:
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        body = {**kind, "metadata": {"name": name, **(metadata or {})}, "spec": spec}
        return await self._client.create(resource, body, NAMESPACE)


@asynccontextmanager
async def workload_fleet(management: BenchCluster) -> AsyncIterator[WorkloadFleet]:
    """Run a workload cluster without Nodes; Machines are watched while the block runs."""
    await cluster_api_crds.apply(management.control_plane.kubeconfig)
    layout = lay_out(management.layout.directory / "workload", prefix="workload-")
    workload = await control_plane.start(management.supervisor, layout, assets.find(), node_grace=None)
    async with (
        await Transport.connect(str(workload.kubeconfig)) as transport,
        watched_fleet(management, Client(transport, "bench")) as nodes,
    ):
        fleet = WorkloadFleet(management, workload, nodes)
        async with running(Reflector(management.transport, API.machines, Machine, notify=fleet.note)):
            yield fleet


async def gap() -> None:
    """Wait a random time, so that failures do not keep step with our processes."""
    await asyncio.sleep(random.uniform(SHORTEST_GAP, LONGEST_GAP))  # noqa: S311  spreads failures


def machine_of(cluster: str, node: str) -> str:
    """The name of the Machine of a Node in a Cluster."""
    return f"{cluster}-{node}"


def _machine_set(cluster: str) -> Object:
    template = {"metadata": {"labels": {CLUSTER_NAME: cluster}}, "spec": {}}
    selector = {"matchLabels": {CLUSTER_NAME: cluster}}
    return {"clusterName": cluster, "replicas": 0, "selector": selector, "template": template}


def _check(cluster: str) -> Object:
    condition = {"type": "Ready", "status": "Unknown", "timeoutSeconds": TIMEOUT_SECONDS}
    return {
        "clusterName": cluster,
        "selector": {"matchLabels": {CLUSTER_NAME: cluster}},
        "checks": {"unhealthyNodeConditions": [condition]},
    }


def _controller(owner: Object) -> Object:
    identity = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **identity}


def _of(cluster: str, owner: Object) -> Object:
    return {"labels": {CLUSTER_NAME: cluster}, "ownerReferences": [owner]}


def _infrastructure() -> Object:
    since = stamp(datetime.now(UTC))
    ready = {"type": INFRASTRUCTURE_READY, "status": "True", "reason": "Ready", "message": ""}
    return {**ready, "lastTransitionTime": since}
