"""What the stories see of the cluster, each a look at what is there now; None is: not yet.

Every method raises KubernetesError.
"""

from typing import Any

from devcluster.demo import cast, machine_cast
from devcluster.demo.facts import ConditionSeen, NodeSeen, RequestSeen
from devcluster.demo.props import ensure, remove
from devcluster.simulation.remediation_request import NODE_NAME
from devcluster.simulation.resources import REQUESTS, TEMPLATES
from kube.client import Client
from kube.resource import NODE_HEALTH_CHECKS, NODES, Object


class ClusterSight:
    """One cluster, read with the rights of its admin."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def set_up(self) -> bool:
        """Create the template and the check; those of an earlier demo are gone on with.

        While there is a MachineHealthCheck, every NodeHealthCheck is disabled.
        """
        await remove(self._client, machine_cast.CHECKS, cast.CHECK, cast.NAMESPACE)
        await ensure(self._client, TEMPLATES, cast.template(), cast.NAMESPACE)
        await ensure(self._client, NODE_HEALTH_CHECKS, cast.node_health_check())
        return True

    async def healthy_fleet(self) -> list[NodeSeen] | None:
        """All nodes, once each is Ready and the check says so too."""
        nodes = await self._client.list(NODES)
        if len(nodes) < cast.NODES or any(_ready(node).status != "True" for node in nodes):
            return None
        check = await self._client.get(NODE_HEALTH_CHECKS, cast.CHECK)
        status = check.get("status", {})
        if not status.get("healthyNodes") == status.get("observedNodes") == len(nodes):
            return None
        return [_node(node) for node in nodes]

    async def ready_nodes(self) -> dict[str, NodeSeen]:
        """The nodes that are Ready, by name."""
        nodes = [node for node in await self._client.list(NODES) if _ready(node).status == "True"]
        return {node["metadata"]["name"]: _node(node) for node in nodes}

    async def ready_condition(self, node: str, status: str) -> ConditionSeen | None:
        """The Ready condition of that node, once it has that status."""
        ready = _ready(await self._client.get(NODES, node))
        return ready if ready.status == status else None

    async def new_boot(self, node: NodeSeen) -> str | None:
        """The boot ID of that node, once it is another one than before."""
        now = _node(await self._client.get(NODES, node.name))
        return now.boot_id if now.boot_id != node.boot_id else None

    async def request_for(self, node: str) -> RequestSeen | None:
        """The remediation request for that node, once there is one."""
        for request in await self._client.list(REQUESTS):
            metadata = request["metadata"]
            if metadata.get("annotations", {}).get(NODE_NAME) == node:
                return RequestSeen(REQUESTS.kind, metadata["namespace"], metadata["name"])
        return None

    async def no_request_for(self, node: str) -> bool | None:
        """True, once there is no remediation request for that node."""
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
