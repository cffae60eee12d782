"""The stand-in for Cluster API: Machines in one cluster, their nodes in another one."""

import base64
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devcluster import cluster_api_crds, workload_cluster
from devcluster.cluster_api_crds import NewestVersion
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.simulation.__main__ import simulate
from devcluster.simulation.machine_api import (
    HEALTH_CHECK_SUCCEEDED,
    OWNER_REMEDIATED,
    ClusterApi,
    MachineCondition,
    with_condition,
)
from kube.client import Client
from kube.errors import NotFound
from kube.resource import NAMESPACES, NODES, SECRETS, Object
from kube.transport import Transport
from tests.devcluster.running import running

pytestmark = pytest.mark.cluster

PACE = timedelta(seconds=0.5)
AT_ONCE = timedelta(milliseconds=1)
PATIENCE = timedelta(seconds=60)
NAMESPACE, LABELS = "default", {"pool": "of-a-cluster-api-test"}
NEW, OLD = ClusterApi("v1beta2"), ClusterApi("v1beta1")


@dataclass(frozen=True)
class World:
    """A MachineSet, and its Machines and their Nodes as their administrator sees them."""

    client: Client
    workload: Client

    async def add_set(self, api: ClusterApi, replicas: int) -> None:
        template = {"metadata": {"labels": LABELS}, "spec": {}}
        selector = {"matchLabels": LABELS}
        body = {
            "apiVersion": api.machine_sets.api_version,
            "kind": api.machine_sets.kind,
            "metadata": {"name": "workers"},
            "spec": {"clusterName": "east", "replicas": replicas, "selector": selector, "template": template},
        }
        await self.client.create(api.machine_sets, body, NAMESPACE)

    async def machines(self, api: ClusterApi) -> dict[str, Object]:
        found = await self.client.list(api.machines, NAMESPACE)
        return {machine["metadata"]["name"]: machine for machine in found}

    async def nodes(self) -> set[str]:
        """Names of the Nodes that Machines of Cluster API became."""
        return {node["metadata"]["name"] for node in await self.workload.list(NODES)}

    async def until_running(self, api: ClusterApi, count: int) -> dict[str, Object]:
        """Return the Machines once there are `count`, and each has its own Node."""

        async def all_run() -> bool:
            machines, nodes = await self.machines(api), await self.nodes()
            linked = {m.get("status", {}).get("nodeRef", {}).get("name") for m in machines.values()}
            return len(machines) == count and len(linked) == count and linked <= nodes

        await until(all_run, within=PATIENCE, otherwise=f"there never were {count} running Machines")
        return await self.machines(api)

    async def mark(self, api: ClusterApi, machine: Object) -> None:
        """Say what a health check says of a Machine that its owner is to remediate."""
        conditions = machine["status"]["conditions"]
        for type_, reason in ((HEALTH_CHECK_SUCCEEDED, "NodeDeleted"), (OWNER_REMEDIATED, "Waiting")):
            said = MachineCondition(type=type_, status="False", reason=reason, message="Said by a test")
            conditions = with_condition(conditions, said, api.version, datetime.now(UTC))
        patch = {"status": {"conditions": conditions}}
        name = machine["metadata"]["name"]
        await self.client.merge_patch(api.machines, name, patch, NAMESPACE, "status")

    async def until_gone(self, api: ClusterApi, name: str) -> None:
        """Return when there is no such Machine any more."""

        async def is_gone() -> bool:
            return name not in await self.machines(api)

        await until(is_gone, within=PATIENCE, otherwise=f"{name} is still there")

    async def remove(self, api: ClusterApi) -> None:
        """Delete everything while the stand-in still removes the finalizers of Machines."""
        await self.client.delete(api.machine_sets, "workers", NAMESPACE)
        for name in await self.machines(api):  # garbage collection hears of a new CRD after half a minute
            with suppress(NotFound):
                await self.client.delete(api.machines, name, NAMESPACE)

        async def nothing_is_left() -> bool:
            return not await self.machines(api)

        await until(nothing_is_left, within=PATIENCE, otherwise="Machines are left")


@pytest.fixture
async def world(management: Transport, transport: Transport) -> AsyncIterator[World]:
    """Simulated nodes of the workload cluster, and who looks after Machines."""
    async with running(simulate(transport, PACE, AT_ONCE, management)):
        yield World(Client(management, "test"), Client(transport, "test"))


async def test_marked_machine_goes_with_its_node_in_the_other_cluster_and_is_replaced(world: World) -> None:
    await world.add_set(NEW, 2)
    before = await world.until_running(NEW, 2)
    name, marked = next(iter(before.items()))
    metadata = marked["metadata"]
    assert metadata["labels"].items() >= (LABELS | {"cluster.x-k8s.io/cluster-name": "east"}).items()
    assert metadata["finalizers"] == ["machine.cluster.x-k8s.io"]
    assert not await world.client.list(NODES)
    await world.mark(NEW, marked)
    await world.until_gone(NEW, name)
    after = await world.until_running(NEW, 2)
    assert marked["status"]["nodeRef"]["name"] not in await world.nodes()
    assert before.keys() - {name} < after.keys()
    await world.remove(NEW)


async def test_owner_goes_on_in_the_version_that_is_served_from_then_on(
    world: World, management_cluster: ControlPlane
) -> None:
    await world.add_set(NEW, 1)
    await world.until_running(NEW, 1)
    await cluster_api_crds.apply(management_cluster.kubeconfig, NewestVersion.V1BETA1)
    ((name, machine),) = (await world.machines(OLD)).items()
    await world.mark(OLD, machine)
    await world.until_gone(OLD, name)
    assert name not in await world.until_running(OLD, 1)
    await world.remove(OLD)
    await cluster_api_crds.apply(management_cluster.kubeconfig)


async def test_workload_cluster_is_reached_by_its_secret_alone(
    management: Transport, control_plane: ControlPlane, tmp_path: Path
) -> None:
    client = Client(management, "test")
    await workload_cluster.ensure_cluster(client, NEW)
    for _ in range(2):  # what is there is replaced
        await workload_cluster.publish_kubeconfig(client, control_plane, "east")
    secret = await client.get(SECRETS, "east-kubeconfig", NAMESPACE)
    assert secret["type"] == "cluster.x-k8s.io/secret"
    assert secret["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "east"}
    text = base64.b64decode(secret["data"]["value"]).decode()
    assert str(control_plane.kubeconfig.parent) not in text
    (tmp_path / "kubeconfig").write_text(text)
    async with await Transport.connect(str(tmp_path / "kubeconfig")) as reached:
        identity = await Client(reached).get(NAMESPACES, "kube-system")
    async with await Transport.connect(str(control_plane.kubeconfig)) as known:
        assert await Client(known).get(NAMESPACES, "kube-system") == identity
