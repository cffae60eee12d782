"""Reads the Nodes, Machines and requests of the cluster for the scenarios; None means not yet.

Every method raises KubernetesError.
"""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from devcluster.demo import fixtures
from devcluster.demo.facts import ConditionSeen, MachineSeen, MarkSeen, NodeSeen, RequestSeen
from devcluster.demo.fixtures import (
    CHECK,
    NAMESPACE,
    OWN_CLUSTER,
    MachineFixtures,
    NodeFixtures,
    ensure,
    remove,
)
from devcluster.errors import DemoFailedError
from devcluster.simulation.machine_api import (
    HEALTH_CHECK_SUCCEEDED,
    OWNER_REMEDIATED,
    RUNNING,
    MachineObject,
)
from devcluster.simulation.nodes import SELECTOR, boot_of, power_on
from devcluster.simulation.remediator import NODE_NAME
from devcluster.simulation.resources import NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from kube.client import Client
from kube.errors import NotFound
from kube.resource import NODES, Object


class ClusterView:
    """One cluster, read with the rights of its admin."""

    def __init__(self, client: Client, demo: NodeFixtures = OWN_CLUSTER) -> None:
        self._client = client
        self._demo = demo

    async def set_up(self) -> bool:
        """Create the template and the check; objects of an earlier demo are reused."""
        demo = self._demo
        for check in demo.rivals:
            await remove(self._client, fixtures.CHECKS, check, fixtures.NAMESPACE)
        await ensure(self._client, TEMPLATES, demo.template(), demo.namespace)
        await ensure(self._client, NODE_HEALTH_CHECKS, demo.node_health_check())
        return True

    async def wake_nodes(self) -> bool:
        """Boot the nodes that an interrupted demo left off."""
        for node in await self._client.list(NODES, label_selector=SELECTOR):
            if boot_of(node) is None:
                await self.change_node(node["metadata"]["name"], power_on())
        return True

    async def change_node(self, node: str, patch: Object) -> None:
        await self._client.merge_patch(NODES, node, patch)

    async def healthy_fleet(self) -> list[NodeSeen] | None:
        """All nodes, once each is Ready and the check counts them as healthy."""
        nodes = await self._client.list(NODES, label_selector=SELECTOR)
        if len(nodes) < self._demo.nodes or any(_ready(node).status != "True" for node in nodes):
            return None
        check = await self._client.get(NODE_HEALTH_CHECKS, self._demo.check)
        status = check.get("status", {})
        if not status.get("healthyNodes") == status.get("observedNodes") == len(nodes):
            return None
        return [_node(node) for node in nodes]

    async def ready_nodes(self) -> dict[str, NodeSeen]:
        nodes = [node for node in await self._client.list(NODES) if _ready(node).status == "True"]
        return {node["metadata"]["name"]: _node(node) for node in nodes}

    async def ready_condition(self, node: str, status: str) -> ConditionSeen | None:
        """The Ready condition of that node, once it has that status.

        Raises DemoFailedError if the Node is gone: no part of the demo deletes it.
        """
        try:
            ready = _ready(await self._client.get(NODES, node))
        except NotFound as error:
            raise DemoFailedError(f"Another controller deleted the simulated Node {node}.") from error
        return ready if ready.status == status else None

    async def new_boot(self, node: NodeSeen) -> str | None:
        """The boot ID of that node, once it differs from `node`."""
        now = _node(await self._client.get(NODES, node.name))
        return now.boot_id if now.boot_id != node.boot_id else None

    async def request_for(self, node: str) -> RequestSeen | None:
        for request in await self._client.list(REQUESTS):
            metadata = request["metadata"]
            if metadata.get("annotations", {}).get(NODE_NAME) == node:
                return RequestSeen(REQUESTS.kind, metadata["namespace"], metadata["name"])
        return None

    async def no_request_for(self, node: str) -> bool | None:
        """True once there is no remediation request for that node, else None."""
        return True if await self.request_for(node) is None else None


def _node(node: Object) -> NodeSeen:
    metadata = node["metadata"]
    return NodeSeen(metadata["name"], metadata["uid"], node["status"]["nodeInfo"]["bootID"])


def _ready(node: Object) -> ConditionSeen:
    conditions: list[dict[str, Any]] = node.get("status", {}).get("conditions", [])
    ready = next((condition for condition in conditions if condition["type"] == "Ready"), {})
    return ConditionSeen(
        ready.get("status", ""), ready.get("lastTransitionTime", ""), ready.get("reason", "")
    )


BETWEEN_LOOKS = timedelta(milliseconds=20)
"""Short, because a mark exists only until the owner deletes the Machine."""


class MachineView:
    """The Machines of the demo's MachineSet in one machine API, and their check."""

    def __init__(self, client: Client, nodes: ClusterView, demo: MachineFixtures) -> None:
        self._client = client
        self._nodes = nodes
        self._demo = demo

    async def set_up(self) -> bool:
        """Create MachineSet and check; objects of an earlier demo are reused."""
        await ensure(self._client, self._demo.api.machine_sets, self._demo.machine_set, NAMESPACE)
        await ensure(self._client, self._demo.checks, self._demo.check, NAMESPACE)
        return True

    async def healthy_machines(self) -> list[MachineSeen] | None:
        """All Machines, once they are complete and run, and the check counts them as healthy."""
        machines = await self._running()
        check = await self._client.get(self._demo.checks, CHECK, NAMESPACE)
        status = check.get("status", {})
        counts = [len(machines), status.get("expectedMachines"), status.get("currentHealthy")]
        return machines if counts == [fixtures.MACHINES] * len(counts) else None

    async def end_of(self, machine: MachineSeen) -> bool | None:
        """True once that Machine is gone, else None."""
        return True if await self._find(machine) is None else None

    async def newcomer_to(self, fleet: Collection[NodeSeen | MachineSeen]) -> MachineSeen | None:
        """The Machine that was not in `fleet`, once all are healthy."""
        names = {machine.name for machine in fleet}
        now = await self.healthy_machines() or []
        return next((machine for machine in now if machine.name not in names), None)

    async def _running(self) -> list[MachineSeen]:
        """The Machines of the set that run on Ready nodes."""
        nodes, api = await self._nodes.ready_nodes(), self._demo.api
        running = []
        for stored in await self._client.list(api.machines, NAMESPACE, self._demo.selector):
            machine = MachineObject.model_validate(stored)
            at, reference = machine.metadata, machine.status.node_ref
            node = nodes.get(reference.name) if reference else None
            if node and machine.status.phase == RUNNING and not machine.is_being_deleted:
                running.append(MachineSeen(at.name, at.uid, node, api.machines.group))
        return running

    async def _find(self, machine: MachineSeen) -> MachineObject | None:
        try:
            stored = await self._client.get(self._demo.api.machines, machine.name, NAMESPACE)
        except NotFound:
            return None
        found = MachineObject.model_validate(stored)
        return found if found.metadata.uid == machine.uid else None


class OpenShiftView(MachineView):
    """Machines of OpenShift, which are deleted, or whose nodes a remediator power-cycles."""

    def __init__(self, client: Client, nodes: ClusterView) -> None:
        super().__init__(client, nodes, fixtures.OPENSHIFT)

    async def set_up(self) -> bool:
        """Create also the template; the check does not name it."""
        await remove(self._client, NODE_HEALTH_CHECKS, CHECK)
        await ensure(self._client, TEMPLATES, OWN_CLUSTER.template(), NAMESPACE)
        await super().set_up()
        return await self._name_template(None)

    async def name_template(self) -> bool:
        """Let the check name the template, so that it requests remediations from now on."""
        return await self._name_template(fixtures.template_reference())

    async def deletion_of(self, machine: MachineSeen) -> bool | None:
        """True once that Machine is being deleted or gone, else None."""
        found = await self._find(machine)
        return True if found is None or found.is_being_deleted else None

    async def request_for(self, machine: MachineSeen) -> RequestSeen | None:
        try:
            await self._client.get(REQUESTS, machine.name, NAMESPACE)
        except NotFound:
            return None
        return RequestSeen(REQUESTS.kind, NAMESPACE, machine.name)

    async def no_request_for(self, machine: MachineSeen) -> bool | None:
        """True once there is no remediation request for that Machine, else None."""
        return True if await self.request_for(machine) is None else None

    async def _name_template(self, reference: dict[str, str] | None) -> bool:
        spec = {"spec": {"remediationTemplate": reference}}
        await self._client.merge_patch(fixtures.CHECKS, CHECK, spec, NAMESPACE)
        return True


class ClusterApiView(MachineView):
    """Machines of Cluster API, which are marked for their owner; their nodes are in another cluster."""

    def __init__(self, management: Client, workload: ClusterView) -> None:
        super().__init__(management, workload, fixtures.CLUSTER_API)

    async def mark_of(self, machine: MachineSeen) -> MarkSeen:
        """The mark on that Machine; raises DemoFailedError if the Machine is deleted before."""
        while (present := await self._find(machine)) is not None:
            health, mark = present.condition(HEALTH_CHECK_SUCCEEDED), present.condition(OWNER_REMEDIATED)
            if health.status == mark.status == "False":
                return MarkSeen(health.reason, " ".join(health.message.split()))
            await asyncio.sleep(BETWEEN_LOOKS.total_seconds())
        raise DemoFailedError(f"Machine {machine.name} was deleted before its mark was seen.")
