"""Cluster API: Machines in the management cluster with Nodes in a workload cluster.

There is one workload cluster. It may be published as several Clusters, each with a Secret, Machines and a
check of its own: the detector connects to each, and keeps the Nodes of each. The owner of the Machines never
replaces them, so marks stay.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from bench.cluster import PROCESSES, BenchCluster
from bench.figure import Goal, p50_and_p99, scenario
from bench.fleet import (
    DURATION_SECONDS,
    NAMESPACE,
    TEMPLATE,
    WARM_UP,
    Fleet,
    Times,
    pause,
    watched,
    watched_fleet,
)
from bench.nodes import PADDING
from bench.simulated_leader import CREATED, TARGETS, metadata, unknown_node
from bench.strain import STARTED_WITHIN, Strain, strain_goals
from detector.registry import WATCHED_KINDS
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from devcluster import assets, cluster_api_crds, control_plane
from devcluster.control_plane import ControlPlane
from devcluster.layout import lay_out
from devcluster.polling import until
from devcluster.simulation.machine_api import CLUSTER_NAME, ClusterApi
from devcluster.workload_cluster import ensure_cluster, publish_kubeconfig
from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.cluster import CHECK as CHECK_KIND
from health.kinds.clusterapi.cluster import (
    CONTROL_PLANE_INITIALIZED,
    Cluster,
    judge,
    workload_cluster,
)
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as KIND
from health.kinds.clusterapi.machine import (
    HEALTH_CHECK_SUCCEEDED,
    INFRASTRUCTURE_READY,
    OWNER_REMEDIATED,
    Machine,
)
from health.model.node import Node
from health.model.references import CheckReference
from health.model.target import node_name
from kube.client import Client
from kube.record import Change, Key
from kube.resource import Object
from kube.transport import Transport
from objects.timestamps import stamp

API = ClusterApi("v1beta2")
CLUSTER = "workload"
WRITERS = 20
SETTLED_SECONDS = 10.0


class WorkloadFleet:
    """Machines, named after Nodes and Clusters, and the times at which their conditions changed."""

    def __init__(self, workload: ControlPlane, nodes: Fleet) -> None:
        self.nodes = nodes
        self.marked, self.reported_healthy = Times(), Times()
        """The Machines that were seen marked for their owner, and reported healthy."""
        self._workload = workload

    async def add_cluster(self, cluster: str, nodes: Sequence[str]) -> None:
        """Publish the workload cluster as a Cluster, with a check, and a Machine for each of these Nodes."""
        client, labels = self.nodes.cluster.client, {CLUSTER_NAME: cluster}
        await ensure_cluster(client, API, cluster)
        await publish_kubeconfig(client, self._workload, cluster, NAMESPACE)
        template = {"metadata": {"labels": labels}, "spec": {}}
        selector = {"matchLabels": labels}
        spec = {"clusterName": cluster, "replicas": 0, "selector": selector, "template": template}
        made = await self.nodes.create(API.machine_sets, cluster, spec)
        identity = {"name": cluster, "uid": made["metadata"]["uid"], "controller": True}
        owner = {"apiVersion": API.machine_sets.api_version, "kind": API.machine_sets.kind, **identity}
        ready = {"type": INFRASTRUCTURE_READY, "status": "True", "reason": "Ready", "message": ""}
        conditions = [{**ready, "lastTransitionTime": stamp(datetime.now(UTC))}]

        async def add(node: str) -> None:
            status = {"phase": "Running", "nodeRef": {"name": node}, "conditions": conditions}
            await self.nodes.create(
                API.machines,
                machine_of(cluster, node),
                {"clusterName": cluster},
                status=status,
                labels=labels,
                ownerReferences=[owner],
            )

        await asyncio.gather(*map(add, nodes))
        await self.nodes.create(API.machine_health_checks, cluster, check_spec(cluster, DURATION_SECONDS))

    async def until_reported_healthy(self, count: int) -> None:
        """Return when that many Machines report that they are healthy."""

        async def are_reported() -> bool:
            return len(self.reported_healthy) >= count

        otherwise = f"fewer than {count} Machines were reported healthy"
        await until(are_reported, within=STARTED_WITHIN, otherwise=otherwise)

    def note(self, change: Change[Machine]) -> None:
        """Record the changes of a Machine, as the handler of the watch."""
        if change.new is None:
            return
        mark, health = change.new.condition(OWNER_REMEDIATED), change.new.condition(HEALTH_CHECK_SUCCEEDED)
        if mark is not None and mark.status == "False":
            self.marked.note(change.key.name)
        if health is not None and health.is_true:
            self.reported_healthy.note(change.key.name)


def machine_of(cluster: str, node: str) -> str:
    """The name of the Machine of a Node in a Cluster."""
    return f"{cluster}-{node}"


def check_spec(cluster: str, timeout_seconds: int) -> Object:
    condition = {"type": "Ready", "status": "Unknown", "timeoutSeconds": timeout_seconds}
    return {
        "clusterName": cluster,
        "selector": {"matchLabels": {CLUSTER_NAME: cluster}},
        "checks": {"unhealthyNodeConditions": [condition]},
    }


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
        fleet = WorkloadFleet(workload, nodes)
        async with watched(management, API.machines, Machine, fleet.note):
            yield fleet


@scenario(
    "marks",
    (
        Goal("second failure to its request while a first one exists, longest of 20", 1, "s"),
        Goal("failure to mark, 1,000 Machines, p99", 1, "s"),
    ),
)
async def marks(
    cluster: BenchCluster, machines: int = 1_000, second_failures: int = 20, samples: int = 100
) -> list[float]:
    """A second request comes beside a first one, while the check has a template; without one come marks."""

    def targets(nodes: Sequence[str]) -> list[str]:
        return [machine_of(CLUSTER, node) for node in nodes]

    async with workload_fleet(cluster) as fleet:
        nodes, checks = fleet.nodes, API.machine_health_checks
        await nodes.grow_to(machines)
        await nodes.add_template()
        await fleet.add_cluster(CLUSTER, nodes.names)
        remediation: Object = {"spec": {"remediation": {"templateRef": TEMPLATE}}}
        await cluster.client.merge_patch(checks, CLUSTER, remediation, NAMESPACE)
        await cluster.start(*PROCESSES)
        await fleet.until_reported_healthy(machines)

        # Each Node recovers before the next one fails; the first request stays, as no remediator runs.
        first, others = nodes.names[:1], nodes.names[1 : second_failures + 1]
        await nodes.fail(first, nodes.came, targets(first))
        second = []
        for node in others:
            second.append(await nodes.fail([node], nodes.came, targets([node])))
            await nodes.mend([node], targets([node]))
            await pause()
        await nodes.mend(first, targets(first))

        await cluster.client.merge_patch(checks, CLUSTER, {"spec": {"remediation": None}}, NAMESPACE)
        marked = []
        for node in nodes.names[-(WARM_UP + samples) :]:
            marked.append(await nodes.fail([node], fleet.marked, targets([node])))
            await pause()
    return [max(second), p50_and_p99(marked[WARM_UP:])[1]]


@scenario(
    "workload-clusters",
    (Goal("detector memory, 20 workload clusters of 269 Nodes of 16 KB", 200, "MB"),),
)
async def workload_clusters(cluster: BenchCluster, clusters: int = 20, shared: int = 249) -> list[float]:
    """Measure the detector after it has reported every Machine of 20 Clusters healthy.

    One real workload cluster is published as 20 Clusters, because 20 real ones do not fit on a laptop. The
    detector has as many Secrets, connections and watches as for 20, and a copy of all Nodes for each. A
    Cluster has Machines for 249 Nodes, which it shares with all others, and for a Node of its own; so each
    copy has 269 Nodes.
    """
    async with workload_fleet(cluster) as fleet:
        await fleet.nodes.grow_to(shared + clusters, PADDING)
        for number, own in enumerate(fleet.nodes.names[shared:]):
            await fleet.add_cluster(f"{CLUSTER}-{number}", [*fleet.nodes.names[:shared], own])
        await cluster.start(*PROCESSES)
        await fleet.until_reported_healthy(clusters * (shared + 1))
        await asyncio.sleep(SETTLED_SECONDS)
        return [cluster.resident_megabytes("detector")]


@scenario(
    "bounds",
    (
        *strain_goals("20 Machines flap"),
        *strain_goals("200 Machines flap"),
    ),
)
async def flapping(
    cluster: BenchCluster, sizes: tuple[int, ...] = (20, 200), seconds: float = 40
) -> list[float]:
    """The Nodes of few Machines, then of many, change as fast as their API server allows."""
    async with workload_fleet(cluster) as fleet:
        strain, nodes = Strain(cluster), fleet.nodes
        await strain.start()
        for machines in sizes:
            await nodes.grow_to(machines)
            before, name = len(fleet.reported_healthy), f"flapping-{machines}"
            await fleet.add_cluster(name, nodes.names)
            await fleet.until_reported_healthy(before + machines)
            turns = itertools.cycle(itertools.product(("Unknown", "True"), nodes.names))

            async def write(turns: Iterator[tuple[str, str]] = turns) -> None:
                for status, node in turns:
                    await nodes.set_ready([node], status)

            async with strain.load():
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await asyncio.gather(*(write() for _ in range(WRITERS)))
            await nodes.set_ready(nodes.names, "True")
            await cluster.client.delete(API.machine_health_checks, name, NAMESPACE)
    return strain.values


def nodes_of_machines() -> Callable[[], Awaitable[None]]:
    """The Nodes of a workload cluster are read after its Machines and its check; for `bench.bounds`."""
    state, workload = ClusterState("bench"), workload_cluster(NAMESPACE, CLUSTER)
    ready = {"status": "True", "lastTransitionTime": stamp(CREATED)}
    conditions = [{"type": name, **ready} for name in (CONTROL_PLANE_INITIALIZED, INFRASTRUCTURE_READY)]
    labels = {CLUSTER_NAME: CLUSTER}
    read = Cluster.model_validate(
        {"metadata": metadata(CLUSTER, NAMESPACE), "status": {"conditions": conditions}}
    )
    state.take_context(ClusterContext(of_kinds={CHECK_KIND: judge([read])}))
    watched_targets = WATCHED_KINDS[KIND.group_kind].targets
    assert watched_targets is not None
    join = watched_targets.join(state)
    check = CheckReference(kind=KIND.kind, group=KIND.group, namespace=NAMESPACE, name="workers")
    stored = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": metadata(check.name, NAMESPACE)}
    record = CheckRecord.model_validate({**stored, "spec": check_spec(CLUSTER, timeout_seconds=300)})
    state.check_changed(KIND, check, record)
    for number in range(TARGETS):
        name = f"machine-{number}"
        machine = {
            "metadata": metadata(name, NAMESPACE) | {"labels": labels},
            "spec": {"clusterName": CLUSTER},
            "status": {"nodeRef": {"name": name}},
        }
        join.target_changed(Key(NAMESPACE, name), Machine.model_validate(machine))
        of_node = node_name(name, workload)
        state.target_changed(of_node, Node.model_validate(unknown_node(name, CREATED)))
        join.node_changed(of_node)

    async def work() -> None:
        join.cluster_read(workload)
        await join.update_targets(workload)
        assert len(state.checks[check].unhealthy) == TARGETS

    return work
