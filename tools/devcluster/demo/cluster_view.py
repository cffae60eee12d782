"""Reads the Nodes and requests of the cluster for the scenarios; None means not yet.

Every method raises KubernetesError.
"""

from typing import Any

from devcluster.demo import fixtures
from devcluster.demo.facts import ConditionSeen, NodeSeen, RequestSeen
from devcluster.demo.fixtures import OWN_CLUSTER, NodeFixtures, ensure, remove
from devcluster.errors import DemoFailedError
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

    async def healthy_fleet(self) -> list[NodeSeen] | None:
        """All nodes, once each is Ready and the check counts them as healthy."""
        nodes = await self._client.list(NODES)
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
