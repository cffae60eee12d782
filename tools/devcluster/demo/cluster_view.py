"""Reads the state of the cluster for the scenarios, and changes the machine API; None means not yet.

Every method raises KubernetesError.
"""

from typing import Any

from devcluster.demo import fixtures
from devcluster.demo.facts import ConditionSeen, MachineSeen, NodeSeen, RequestSeen
from devcluster.demo.fixtures import ensure, remove
from devcluster.demo.upgrade_fixtures import SPARE
from devcluster.simulation.machine_object import RUNNING, MachineObject
from devcluster.simulation.remediation import NODE_NAME
from devcluster.simulation.resources import MACHINE_SETS, MACHINES, NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from kube.client import Client
from kube.errors import NotFound
from kube.resource import NODES, Object


class ClusterView:
    """One cluster, read with the rights of its admin."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def set_up(self) -> bool:
        """Create the template and the check; objects of an earlier demo are reused.

        MachineHealthChecks are removed first: while there is one, every NodeHealthCheck is disabled.
        """
        for check in (fixtures.CHECK, SPARE):
            await remove(self._client, fixtures.CHECKS, check, fixtures.NAMESPACE)
        await ensure(self._client, TEMPLATES, fixtures.template(), fixtures.NAMESPACE)
        await ensure(self._client, NODE_HEALTH_CHECKS, fixtures.node_health_check())
        return True

    async def healthy_fleet(self) -> list[NodeSeen] | None:
        """All nodes, once each is Ready and the check counts them as healthy."""
        nodes = await self._client.list(NODES)
        if len(nodes) < fixtures.NODES or any(_ready(node).status != "True" for node in nodes):
            return None
        check = await self._client.get(NODE_HEALTH_CHECKS, fixtures.CHECK)
        status = check.get("status", {})
        if not status.get("healthyNodes") == status.get("observedNodes") == len(nodes):
            return None
        return [_node(node) for node in nodes]

    async def ready_nodes(self) -> dict[str, NodeSeen]:
        nodes = [node for node in await self._client.list(NODES) if _ready(node).status == "True"]
        return {node["metadata"]["name"]: _node(node) for node in nodes}

    async def ready_condition(self, node: str, status: str) -> ConditionSeen | None:
        """The Ready condition of that node, once it has that status."""
        ready = _ready(await self._client.get(NODES, node))
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


class MachineView:
    """The Machines of the demo's MachineSet, and their check."""

    def __init__(self, client: Client, cluster: ClusterView) -> None:
        self._client = client
        self._cluster = cluster

    async def set_up(self) -> bool:
        """Create MachineSet, template, and a check without it; objects of an earlier demo are reused."""
        client, namespace = self._client, fixtures.NAMESPACE
        await remove(client, NODE_HEALTH_CHECKS, fixtures.CHECK)
        await ensure(client, TEMPLATES, fixtures.template(), namespace)
        await ensure(client, MACHINE_SETS, fixtures.machine_set(), namespace)
        await ensure(client, fixtures.CHECKS, fixtures.machine_health_check(), namespace)
        return await self._name_template(None)

    async def name_template(self) -> bool:
        """Let the check name the template, so that it requests remediations from now on."""
        return await self._name_template(fixtures.template_reference())

    async def healthy_machines(self) -> list[MachineSeen] | None:
        """All Machines, once they are complete and run, and the check counts them as healthy."""
        machines = await self._running()
        check = await self._client.get(fixtures.CHECKS, fixtures.CHECK, fixtures.NAMESPACE)
        status = check.get("status", {})
        counts = [len(machines), status.get("expectedMachines"), status.get("currentHealthy")]
        return machines if counts == [fixtures.MACHINES] * len(counts) else None

    async def deletion_of(self, machine: MachineSeen) -> bool | None:
        """True once that Machine is being deleted or gone, else None."""
        found = await self._find(machine)
        return True if found is None or found.is_being_deleted else None

    async def end_of(self, machine: MachineSeen) -> bool | None:
        """True once that Machine is gone, else None."""
        return True if await self._find(machine) is None else None

    async def newcomer_to(self, fleet: list[MachineSeen]) -> MachineSeen | None:
        """The Machine that was not in `fleet`, once all are healthy."""
        names = {machine.name for machine in fleet}
        now = await self.healthy_machines() or []
        return next((machine for machine in now if machine.name not in names), None)

    async def request_for(self, machine: MachineSeen) -> RequestSeen | None:
        try:
            await self._client.get(REQUESTS, machine.name, fixtures.NAMESPACE)
        except NotFound:
            return None
        return RequestSeen(REQUESTS.kind, fixtures.NAMESPACE, machine.name)

    async def no_request_for(self, machine: MachineSeen) -> bool | None:
        """True once there is no remediation request for that Machine, else None."""
        return True if await self.request_for(machine) is None else None

    async def _name_template(self, reference: dict[str, str] | None) -> bool:
        spec = {"spec": {"remediationTemplate": reference}}
        await self._client.merge_patch(fixtures.CHECKS, fixtures.CHECK, spec, fixtures.NAMESPACE)
        return True

    async def _running(self) -> list[MachineSeen]:
        """The Machines of the set that run on Ready nodes."""
        nodes = await self._cluster.ready_nodes()
        selector = ",".join(f"{key}={value}" for key, value in fixtures.LABELS.items())
        running = []
        for stored in await self._client.list(MACHINES, fixtures.NAMESPACE, selector):
            machine = MachineObject.model_validate(stored)
            node = nodes.get(machine.status.node_ref.name) if machine.status.node_ref else None
            if node and machine.status.phase == RUNNING and not machine.is_being_deleted:
                running.append(MachineSeen(machine.metadata.name, machine.metadata.uid, node))
        return running

    async def _find(self, machine: MachineSeen) -> MachineObject | None:
        try:
            stored = await self._client.get(MACHINES, machine.name, fixtures.NAMESPACE)
        except NotFound:
            return None
        found = MachineObject.model_validate(stored)
        return found if found.metadata.uid == machine.uid else None
