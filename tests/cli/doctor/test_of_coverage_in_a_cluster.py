"""`paramedic doctor` on a real control plane: what checks do here, as the API server stores them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest

from cli.doctor.finding import Finding
from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as KIND
from kube.client import Client
from kube.resource import NODES, Object, Resource, resource_of
from tests.cli.doctor.conftest import AsUser
from tests.cli.doctor.findings import findings
from tests.support.cluster.command import Command

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

CHECKS = resource_of(KIND)
KINDS = f"{NODE_HEALTH_CHECKS.plural}.remediation.medik8s.io,{CHECKS.plural}.{KIND.group}"
TEMPLATE = {
    "apiVersion": "demo.paramedic.dev/v1",
    "kind": "BootTemplate",
    "name": "boot",
    "namespace": "default",
}


class Cluster:
    """Objects with names of their own, which the test removes."""

    def __init__(self, client: Client, doctor: Command) -> None:
        self.name = f"covered-{uuid4().hex[:8]}"
        self._client, self._doctor = client, doctor
        self.made = AsyncExitStack()

    async def node(self, suffix: str, *, ready: str, selected: bool = True, **spec: object) -> str:
        name = f"{self.name}-{suffix}"
        labels = {"of": self.name if selected else "none"}
        await self._put(NODES, {"metadata": {"name": name, "labels": labels}, "spec": spec}, "")
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await self._client.merge_patch(
            NODES, name, {"status": {"conditions": [condition]}}, subresource="status"
        )
        return name

    async def check_of_nodes(self, **spec: object) -> None:
        selector = {"matchLabels": {"of": self.name}}
        fields = {"selector": selector, "minHealthy": 0, "remediationTemplate": TEMPLATE, **spec}
        await self._put(NODE_HEALTH_CHECKS, {"metadata": {"name": self.name}, "spec": fields}, "")

    async def check_of_machines(self, **spec: object) -> None:
        fields = {"clusterName": self.name, "selector": {"matchLabels": {"of": self.name}}, **spec}
        await self._put(CHECKS, {"metadata": {"name": self.name}, "spec": fields}, "default")

    async def _put(self, resource: Resource, body: Object, namespace: str) -> None:
        typed = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        await self._client.create(resource, typed, namespace)
        self.made.push_async_callback(self._client.delete, resource, body["metadata"]["name"], namespace)

    async def said(self) -> dict[str, str]:
        """The findings that name these objects, by reason."""
        found: list[Finding] = await findings(self._doctor, PARAMEDIC_CHECK_KINDS=KINDS)
        return {one.reason: one.what for one in found if self.name in one.what}


@pytest.fixture
async def cluster(as_user: AsUser, control_plane: ControlPlane, client: Client) -> AsyncIterator[Cluster]:
    cluster = Cluster(client, as_user(control_plane.kubeconfig))
    async with cluster.made:
        yield cluster


async def test_checks_and_nodes_are_examined_by_what_the_checks_do_here(cluster: Cluster) -> None:
    cordoned = await cluster.node("cordoned", ready="False", unschedulable=True)
    forgotten = await cluster.node("forgotten", ready="False", selected=False)
    await cluster.check_of_nodes(
        unhealthyConditions=[
            {"type": "Redy", "status": "False", "duration": "5m"},
            {"type": "Ready", "status": "False", "duration": "5m"},
        ]
    )
    said = await cluster.said()
    assert said["ConditionNotReported"].endswith("none of its Nodes has: Redy")
    assert said["ClaimedAndUnhealthy"].endswith(f"that others work on: {cordoned} (cordoned)")
    assert forgotten in said["UnhealthyAndUnselected"]
    assert cordoned not in said["UnhealthyAndUnselected"]


async def test_fields_of_the_other_version_that_the_api_server_stores_are_named(cluster: Cluster) -> None:
    old = [{"type": "Ready", "status": "False", "timeout": "5m"}]
    await cluster.check_of_machines(
        checks={"nodeStartupTimeoutSeconds": 600}, unhealthyConditions=old, maxUnhealthy="40%"
    )
    said = await cluster.said()
    assert said["UnknownFields"].endswith("does not have: spec.maxUnhealthy, spec.unhealthyConditions")
    assert "WatchesNoCondition" in said
    assert said["SelectsNothing"].endswith("selects none of the 0 Machines in default")
