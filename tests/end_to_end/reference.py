"""Objects exactly as the NodeHealthCheck operator leaves them when it is stopped (NHC 2.4)."""

from datetime import UTC, datetime, timedelta
from typing import Any

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.resource import Object
from objects.timestamps import stamp
from tests.support.story.leases import put_lease
from tests.support.story.remediator import report
from tests.support.story.world import REQUESTS, World

NODE_NAME = "remediation.medik8s.io/node-name"
TEMPLATE_NAME = "remediation.medik8s.io/template-name"
TIMED_OUT = "remediation.medik8s.io/nhc-timed-out"


class Reference:
    """Objects that it created for the check of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._unhealthy: dict[str, list[Object]] = {}

    async def remediates(  # noqa: PLR0913  each is a part of what it leaves
        self,
        node: str,
        step: str = "",
        *,
        suffix: str = "",
        is_timed_out: bool = False,
        conditions: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
    ) -> Object:
        """Add a request for a node from the template of that step, and its entry in the status."""
        template = self._world.template(step)["name"]
        now = stamp(datetime.now(UTC))
        made = await self._world.client.create(
            REQUESTS, await self._request(f"{node}{suffix}", node, template, labels or {}), "default"
        )
        entry = _entry(made, template)
        if is_timed_out:
            patch = {"metadata": {"annotations": {TIMED_OUT: now}}}
            await self._world.client.merge_patch(REQUESTS, made["metadata"]["name"], patch, "default")
            entry["timedOut"] = now
        self._unhealthy.setdefault(node, []).append(entry)
        await report(self._world, made["metadata"]["name"], **(conditions or {}))
        return made

    async def holds(self, node: str, *, lasts: timedelta, since: timedelta) -> None:
        """Add the Lease of a node, acquired at `since` and renewed now."""
        await put_lease(
            self._world, node, f"NodeHealthCheck-{self._world.name}", lasts=lasts, acquired_ago=since
        )

    async def lists(self, node: str) -> None:
        """List a node in the status without a request."""
        self._unhealthy[node] = []

    async def stops(self, *, observed: int) -> None:
        """Write its last status; an older version of it also left its old field."""
        now = stamp(datetime.now(UTC))
        nodes = [
            {"name": node, "remediations": entries} if entries else {"name": node}
            for node, entries in self._unhealthy.items()
        ]
        status: dict[str, Any] = {
            "observedNodes": observed,
            "healthyNodes": observed - len(nodes),
            "unhealthyNodes": nodes,
            "inFlightRemediations": dict.fromkeys(self._unhealthy, now),
            "conditions": [
                {
                    "type": "Disabled",
                    "status": "False",
                    "reason": "NodeHealthCheckEnabled",
                    "message": "No issues found, NodeHealthCheck is enabled.",
                    "lastTransitionTime": now,
                }
            ],
            "phase": "Remediating",
            "reason": f"NHC is remediating {len(nodes)} nodes",
            "lastUpdateTime": now,
        }
        await self._world.client.merge_patch(
            NODE_HEALTH_CHECKS, self._world.name, {"status": status}, subresource="status"
        )

    async def _request(self, name: str, node: str, template: str, labels: dict[str, str]) -> Object:
        owner = {
            "apiVersion": NODE_HEALTH_CHECKS.api_version,
            "kind": NODE_HEALTH_CHECKS.kind,
            "name": self._world.name,
            "uid": (await self._world.check())["metadata"]["uid"],
            "controller": False,
        }
        return {
            "apiVersion": REQUESTS.api_version,
            "kind": REQUESTS.kind,
            "metadata": {
                "name": name,
                "namespace": "default",
                "annotations": {NODE_NAME: node, TEMPLATE_NAME: template},
                "labels": {"app.kubernetes.io/part-of": "node-healthcheck-controller"} | labels,
                "ownerReferences": [owner],
            },
            "spec": {"powerOffSeconds": 7},
        }


def _entry(request: Object, template: str) -> Object:
    metadata = request["metadata"]
    return {
        "resource": {
            "apiVersion": REQUESTS.api_version,
            "kind": REQUESTS.kind,
            "namespace": "default",
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "started": metadata["creationTimestamp"],
        "templateName": template,
    }
