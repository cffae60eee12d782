"""The Machines of one Cluster of Cluster API, as its administrator and other controllers handle them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from devcluster import workload_cluster
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.simulation.machine_api import (
    CLUSTER_NAME,
    GROUP,
    ClusterApi,
    MachineCondition,
    with_condition,
)
from kube.client import Client
from kube.errors import Conflict, KubernetesError, NotFound
from kube.resource import NAMESPACES, SECRETS, Object, Resource
from tests.support.story.machine_check import Check
from tests.support.story.machine_incidents import CHECK, MachineIncidents
from tests.support.story.nodes import Nodes
from tests.support.story.world import PATIENCE, TEMPLATES, World

NEW, OLD = ClusterApi("v1beta2"), ClusterApi("v1beta1")
CLUSTER = "east"
INITIALIZED, READY = "ControlPlaneInitialized", "InfrastructureReady"
NOT_READY = {"type": "Ready", "status": "Unknown", "timeoutSeconds": 1}
POOL = {"pool": "workers"}
BETWEEN_WRITES_SECONDS = 0.2
SUCCEEDED, OWNER, EXTERNAL = "HealthCheckSucceeded", "OwnerRemediated", "ExternallyRemediated"


class Fleet(MachineIncidents):
    """Machines with the test's name as prefix; the Node of each has another name."""

    def __init__(self, world: World, nodes: Nodes, api: ClusterApi = NEW, cluster: str = CLUSTER) -> None:
        super().__init__(world, GROUP)
        self.nodes = nodes
        self.api = api
        """The version in which the test reads and writes."""
        self.cluster = cluster

    async def make(self, **conditions: str) -> None:
        """Create the namespace, if missing, and a Cluster; it is ready unless `conditions` say otherwise."""
        with suppress(KubernetesError):
            await self.client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        await self._create(self.api.clusters, self.cluster, {"spec": {"paused": False}})
        await self.set_cluster(**({INITIALIZED: "True", READY: "True"} | conditions))

    async def publish(self, workload: ControlPlane) -> None:
        """Publish the kubeconfig of the workload cluster in its Secret."""
        await workload_cluster.publish_kubeconfig(self.client, workload, self.cluster, self.namespace)

    async def set_secret(self, kubeconfig: str) -> None:
        secret = workload_cluster.kubeconfig_secret(self.cluster, self.namespace, kubeconfig)
        name = workload_cluster.secret_name(self.cluster)
        await self.client.merge_patch(SECRETS, name, {"data": secret["data"]}, self.namespace)

    async def set_cluster(self, **conditions: str) -> None:
        """Set the statuses of these conditions of the Cluster."""
        for type_, status in conditions.items():
            said = MachineCondition(type=type_, status=status, reason="Said", message="by a test")
            await self._say(self.api.clusters, self.cluster, said)

    async def pause_cluster(self, *, paused: bool) -> None:
        patch = {"spec": {"paused": paused}}
        await self.client.merge_patch(self.api.clusters, self.cluster, patch, self.namespace)

    async def delete_cluster(self) -> None:
        await self.client.delete(self.api.clusters, self.cluster, self.namespace)

    async def add(self, *suffixes: str, **metadata: Any) -> list[str]:
        """Add Machines with healthy Nodes; the arguments extend their metadata."""
        names = list((await self.nodes.add_named_nodes(*suffixes)).values())
        await asyncio.gather(*(self.add_alone(name, name, **metadata) for name in names))
        return names

    async def add_alone(self, name: str, node: str = "", **metadata: Any) -> str:
        """Add a Machine with a link to that Node, or without a Node."""
        labels = {CLUSTER_NAME: self.cluster} | POOL
        body = {"metadata": {"labels": labels} | metadata, "spec": {"clusterName": self.cluster}}
        made = await self._create(self.api.machines, name, body)
        self.uids[name] = made["metadata"]["uid"]
        if node:
            patch = {"status": {"nodeRef": self._reference(node)}}
            await self.client.merge_patch(self.api.machines, name, patch, self.namespace, "status")
        return name

    async def add_check(
        self, name: str = CHECK, annotations: dict[str, str] | None = None, **spec: Any
    ) -> Check:
        """Add a check over all Machines; a timer of one second runs while Ready is Unknown."""
        selects = {"clusterName": self.cluster, "selector": {"matchLabels": POOL}}
        check = Check(self.world, name, self.api.machine_health_checks)
        await check.make(selects | self._usual() | spec, annotations or {})
        return check

    async def add_template(self) -> Object:
        """Add a template; return the reference to it in a check of v1beta2."""
        reference = {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": CHECK}
        body = {"spec": {"template": {"spec": {"powerOffSeconds": 7}}}}
        await self._create(TEMPLATES, CHECK, body)
        return reference

    async def get(self, machine: str) -> Object:
        return await self.client.get(self.api.machines, machine, self.namespace)

    async def set_metadata(self, machine: str, **fields: Any) -> None:
        await self.client.merge_patch(self.api.machines, machine, {"metadata": fields}, self.namespace)

    async def delete(self, machine: str) -> None:
        """Delete a Machine, as its owner does after the mark."""
        await self.client.delete(self.api.machines, machine, self.namespace)

    async def say(self, machine: str, type_: str, reason: str, message: str, status: str = "False") -> None:
        """Set a condition of a Machine as another controller does; keep the other writers' conditions."""
        said = MachineCondition(type=type_, status=status, reason=reason, message=message)
        await self._say(self.api.machines, machine, said)

    async def condition(self, machine: str, type_: str) -> Object:
        """The condition in the form of the served version; empty if missing."""
        return _named((await self.get(machine)).get("status", {}).get("conditions", []), type_)

    async def twin(self, machine: str, type_: str) -> Object:
        """The v1beta1 counterpart of a v1beta2 condition."""
        status = (await self.get(machine))["status"]
        return _named(status["deprecated"]["v1beta1"]["conditions"], type_)

    async def until_said(self, machine: str, type_: str, **fields: str) -> Object:
        """Wait until the condition has these values, and return it."""
        last: Object = {}

        async def says_so() -> bool:
            last.clear()
            last.update(await self.condition(machine, type_))
            return fields.items() <= last.items()

        await self.world.until(says_so, f"{type_} of {machine} never said {fields}")
        return last

    async def until_healthy(self, *machines: str) -> None:
        """Wait until each Machine is reported as healthy."""
        await asyncio.gather(*(self.until_said(machine, SUCCEEDED, status="True") for machine in machines))

    async def until_marked(self, *machines: str) -> None:
        """Wait until each Machine is marked for its owner, with the reason."""
        for type_ in (SUCCEEDED, OWNER):
            await asyncio.gather(*(self.until_said(machine, type_, status="False") for machine in machines))

    @asynccontextmanager
    async def foreign_writers(self, machine: str, count: int) -> AsyncIterator[None]:
        """Run controllers that each write a condition and check that their last value is still there."""
        ends = asyncio.Event()
        writers = [asyncio.create_task(self._write_on(machine, f"Foreign{n}", ends)) for n in range(count)]
        yield
        ends.set()
        assert min(await asyncio.gather(*writers)) > 1, "too few foreign writes"

    async def _write_on(self, machine: str, type_: str, ends: asyncio.Event) -> int:
        said, written = "", 0
        while not ends.is_set():
            found = await self.condition(machine, type_)
            assert found.get("message", "") == said, f"{type_} was {said!r}, and is {found}"
            said, written = str(written + 1), written + 1
            await self.say(machine, type_, "Counted", said, status="True")
            await asyncio.sleep(BETWEEN_WRITES_SECONDS)
        return written

    async def remove(self) -> None:
        """Remove everything that our processes watch; the namespace stays until the control plane stops."""
        for resource in (self.api.machine_health_checks, self.api.machines, self.api.clusters):
            for found in await self.client.list(resource, self.namespace):
                with suppress(NotFound):
                    await self.client.delete(resource, found["metadata"]["name"], self.namespace)

    async def _say(self, resource: Resource, name: str, condition: MachineCondition) -> None:
        while True:
            found = await self.client.get(resource, name, self.namespace)
            shown = found.get("status", {}).get("conditions", [])
            conditions = with_condition(shown, condition, self.api.version, datetime.now(UTC))
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            patch = {"metadata": version, "status": {"conditions": conditions}}
            with suppress(Conflict):
                await self.client.merge_patch(resource, name, patch, self.namespace, "status")
                return

    async def _create(self, resource: Resource, name: str, body: Object) -> Object:
        metadata = {"name": name} | body.get("metadata", {})
        typed = {"apiVersion": resource.api_version, "kind": resource.kind} | body | {"metadata": metadata}
        return await self.client.create(resource, typed, self.namespace)

    def _usual(self) -> Object:
        if self.api == NEW:
            return {"checks": {"unhealthyNodeConditions": [NOT_READY]}}
        return {"unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "1s"}]}

    def _reference(self, node: str) -> Object:
        return {"name": node} if self.api == NEW else {"kind": "Node", "name": node}


async def until_served(client: Client, api: ClusterApi = NEW) -> None:
    """Wait until all kinds can be listed: after a new CRD the API server first answers 429."""

    async def are_served() -> bool:
        try:
            for resource in (api.clusters, api.machines, api.machine_health_checks):
                await client.list(resource)
        except KubernetesError:
            return False
        return True

    await until(are_served, within=PATIENCE, otherwise=f"Cluster API is not served in {api.version}")


def _named(conditions: list[Object], type_: str) -> Object:
    return next((condition for condition in conditions if condition["type"] == type_), {})
