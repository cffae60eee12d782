"""Reads and changes the Nodes, Machines, requests and checks of the clusters for the scenarios.

A method returns None or False while its object is missing. Every method raises KubernetesError.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from devcluster.demo import fixtures
from devcluster.demo.fixtures import (
    CHECK,
    CHECKS,
    CLUSTER_VERSIONS,
    NAMESPACE,
    OWN_CLUSTER,
    VERSION,
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
    MachineCondition,
    MachineObject,
)
from devcluster.simulation.nodes import SELECTOR, boot_of, power_on, reported_boot
from devcluster.simulation.remediator import NODE_NAME
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from health.check.annotated_hold import PAUSED
from kube.client import Client
from kube.errors import NotFound
from kube.resource import NODES, Object
from objects.timestamps import stamp


@dataclass(frozen=True)
class NodeSeen:
    """A Node before the failure, with its boot ID."""

    name: str
    uid: str
    boot_id: str


@dataclass(frozen=True)
class MachineSeen:
    """A Machine before the failure, with its node."""

    name: str
    uid: str
    node: NodeSeen
    group: str
    """The API group of its kind."""


class ClusterView:
    """The Nodes of one cluster, their check and the requests, with the rights of the client."""

    def __init__(self, client: Client, demo: NodeFixtures = OWN_CLUSTER) -> None:
        self._client = client
        self.demo = demo

    async def set_up(self) -> bool:
        """Create the template and the check; objects of an earlier demo are reused."""
        for check in self.demo.rivals:
            await remove(self._client, CHECKS, check, NAMESPACE)
        await ensure(self._client, TEMPLATES, self.demo.template(), self.demo.namespace)
        await ensure(self._client, NODE_HEALTH_CHECKS, self.demo.node_health_check())
        return await self.wake_nodes()

    async def wake_nodes(self) -> bool:
        """Boot the nodes that an interrupted demo left off."""
        for node in await self._client.list(NODES, label_selector=SELECTOR):
            if boot_of(node) is None:
                await self.change_node(node["metadata"]["name"], power_on())
        return True

    async def change_node(self, node: str, patch: Object) -> bool:
        await self._client.merge_patch(NODES, node, patch)
        return True

    async def healthy_fleet(self) -> list[NodeSeen]:
        """All nodes, once each is Ready and the check counts them as healthy."""
        nodes = await self._client.list(NODES, label_selector=SELECTOR)
        check = await self._client.get(NODE_HEALTH_CHECKS, self.demo.check)
        status = check.get("status", {})
        are_ready = len(nodes) >= self.demo.nodes and all(_ready(node)["status"] == "True" for node in nodes)
        are_counted = status.get("healthyNodes") == status.get("observedNodes") == len(nodes)
        return [_node(node) for node in nodes] if are_ready and are_counted else []

    async def ready_nodes(self) -> dict[str, NodeSeen]:
        nodes = [node for node in await self._client.list(NODES) if _ready(node)["status"] == "True"]
        return {node["metadata"]["name"]: _node(node) for node in nodes}

    async def ready_condition(self, node: str, status: str) -> Object | None:
        """The Ready condition of that node, once it has that status.

        Raises DemoFailedError if the Node is gone: no part of the demo deletes it.
        """
        try:
            ready = _ready(await self._client.get(NODES, node))
        except NotFound as error:
            raise DemoFailedError(f"Another controller deleted the simulated Node {node}.") from error
        return ready if ready["status"] == status else None

    async def new_boot(self, node: NodeSeen) -> str | None:
        """The boot ID of that node, once it differs from `node`."""
        now = reported_boot(await self._client.get(NODES, node.name))
        return now if now != node.boot_id else None

    async def request_for(self, target: str) -> str | None:
        """The request for that Node or Machine: its kind, namespace and name."""
        for request in await self._client.list(REQUESTS):
            metadata = request["metadata"]
            if target in (metadata["name"], metadata.get("annotations", {}).get(NODE_NAME)):
                return f"{REQUESTS.kind} {metadata['namespace']}/{metadata['name']}"
        return None

    async def has_no_request_for(self, target: str) -> bool:
        return await self.request_for(target) is None


def _node(node: Object) -> NodeSeen:
    metadata = node["metadata"]
    return NodeSeen(metadata["name"], metadata["uid"], reported_boot(node))


def _ready(node: Object) -> Object:
    conditions: list[Object] = node.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == "Ready"), {"status": ""})


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
        await self._nodes.wake_nodes()
        await ensure(self._client, self._demo.api.machine_sets, self._demo.machine_set, NAMESPACE)
        await ensure(self._client, self._demo.checks, self._demo.check, NAMESPACE)
        return True

    async def healthy_machines(self) -> list[MachineSeen]:
        """All Machines, once they are complete, run on Ready nodes, and count as healthy by the check."""
        nodes, api = await self._nodes.ready_nodes(), self._demo.api
        running = []
        for stored in await self._client.list(api.machines, NAMESPACE, self._demo.selector):
            machine = MachineObject.model_validate(stored)
            at, reference = machine.metadata, machine.status.node_ref
            node = nodes.get(reference.name) if reference else None
            if node and machine.status.phase == RUNNING and not machine.is_being_deleted:
                running.append(MachineSeen(at.name, at.uid, node, api.machines.group))
        check = await self._client.get(self._demo.checks, CHECK, NAMESPACE)
        status = check.get("status", {})
        counts = [len(running), status.get("expectedMachines"), status.get("currentHealthy")]
        return running if counts == [fixtures.MACHINES] * len(counts) else []

    async def is_gone(self, machine: MachineSeen) -> bool:
        return await self._find(machine) is None

    async def is_deleted(self, machine: MachineSeen) -> bool:
        """True once that Machine is being deleted or gone."""
        found = await self._find(machine)
        return found is None or found.is_being_deleted

    async def newcomer_to(self, fleet: Collection[MachineSeen]) -> MachineSeen | None:
        """The Machine that was not in `fleet`, once all are healthy."""
        names = {machine.name for machine in fleet}
        return next((machine for machine in await self.healthy_machines() if machine.name not in names), None)

    async def mark_of(self, machine: MachineSeen) -> MachineCondition:
        """The failed health of that Machine, once it is marked.

        Raises DemoFailedError if the Machine is deleted before.
        """
        while (present := await self._find(machine)) is not None:
            health, mark = present.condition(HEALTH_CHECK_SUCCEEDED), present.condition(OWNER_REMEDIATED)
            if health.status == mark.status == "False":
                return health
            await asyncio.sleep(BETWEEN_LOOKS.total_seconds())
        raise DemoFailedError(f"Machine {machine.name} was deleted before its mark was seen.")

    async def _find(self, machine: MachineSeen) -> MachineObject | None:
        try:
            stored = await self._client.get(self._demo.api.machines, machine.name, NAMESPACE)
        except NotFound:
            return None
        found = MachineObject.model_validate(stored)
        return found if found.metadata.uid == machine.uid else None


class OpenShiftView(MachineView):
    """Machines of OpenShift, whose check may name a template, and be paused during an upgrade."""

    def __init__(self, client: Client, nodes: ClusterView) -> None:
        super().__init__(client, nodes, fixtures.OPENSHIFT)

    async def set_up(self) -> bool:
        """Create also the template; the check does not name it."""
        await remove(self._client, NODE_HEALTH_CHECKS, CHECK)
        await ensure(self._client, TEMPLATES, OWN_CLUSTER.template(), NAMESPACE)
        await super().set_up()
        return await self._edit_check({"remediationTemplate": None})

    async def name_template(self) -> bool:
        """Let the check name the template, so that it requests remediations from now on."""
        return await self._edit_check({"remediationTemplate": fixtures.template_reference()})

    async def set_up_upgrade(self) -> bool:
        """Create the objects of the scenario `upgrade`; no upgrade is under way."""
        await self.set_up()
        slower = fixtures.machine_health_check(seconds=fixtures.UPGRADE_CONDITION_SECONDS)["spec"]
        await self._edit_check({"unhealthyConditions": slower["unhealthyConditions"]})
        await ensure(self._client, CHECKS, fixtures.spare_check(), NAMESPACE)
        for resource, body in zip((DEFINITIONS, CLUSTER_VERSIONS), fixtures.cluster_version(), strict=True):
            await ensure(self._client, resource, body)
        return await self.set_progressing("False")

    async def set_progressing(self, status: str) -> bool:
        """Begin or end an upgrade: set the condition Progressing of the ClusterVersion."""
        now = stamp(datetime.now(UTC).replace(microsecond=0))
        condition = {"type": "Progressing", "status": status, "lastTransitionTime": now}
        patch = {"status": {"conditions": [condition]}}
        await self._client.merge_patch(CLUSTER_VERSIONS, VERSION, patch, subresource="status")
        return True

    async def are_paused(self, *names: str) -> bool:
        """True once exactly these checks are paused."""
        checks = await self._client.list(CHECKS, NAMESPACE)
        paused = [check["metadata"] for check in checks if PAUSED in check["metadata"].get("annotations", {})]
        return {metadata["name"] for metadata in paused} == set(names)

    async def _edit_check(self, spec: Object) -> bool:
        await self._client.merge_patch(CHECKS, CHECK, {"spec": spec}, NAMESPACE)
        return True
