"""Findings about a Temporal server that runs on nodes of the cluster that it remediates."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from activities.live_objects import LiveObjects
from activities.registry import readers
from cli.doctor.finding import FindingSeverity
from cli.doctor.of_temporal_place import ENDPOINT_SLICES, SERVICES, TemporalPlace
from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.kinds.openshift.machine import MACHINES as MACHINE
from kube.client import Client
from kube.connection import ClusterConnection
from kube.resource import NAMESPACES, NODES, Object, Resource, resource_of
from kube.transport import Transport
from kube.workload_connections import ClusterConnections, WorkloadConnections
from tests.cli.doctor.conftest import AsUser
from tests.cli.doctor.findings import about, findings, listed
from tests.cli.doctor.status_writes import MACHINE_CHECKS

pytestmark = pytest.mark.cluster

MACHINES = resource_of(MACHINE)


class Placed:
    """A Temporal with a pod on each of two nodes, as far as an API server without kubelets has that."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._made: list[tuple[Resource, str, str]] = []
        self.namespace = f"temporal-{uuid4().hex[:8]}"
        self.nodes = [f"{self.namespace}-{number}" for number in (1, 2)]
        self.ip = ""

    async def make(self) -> None:
        await self._client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        for node in self.nodes:
            await self.put(NODES, node, "", metadata={"labels": {"of": node}})
        spec = {"ports": [{"port": 7233}]}
        self.ip = (await self.put(SERVICES, "frontend", spec=spec))["spec"]["clusterIP"]
        await self.put(
            ENDPOINT_SLICES,
            "frontend-1",
            metadata={"labels": {"kubernetes.io/service-name": "frontend"}},
            addressType="IPv4",
            endpoints=[
                {"addresses": [f"10.1.0.{number}"], "nodeName": node}
                for number, node in enumerate(self.nodes, 1)
            ],
        )

    async def put(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        metadata: Object | None = None,
        **fields: object,
    ) -> Object:
        where = self.namespace if namespace is None else namespace
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **fields}
        found = await self._client.create(
            resource, body | {"metadata": {"name": name} | (metadata or {})}, where
        )
        self._made.append((resource, name, where))
        return found

    async def remove(self) -> None:
        """The namespace stays: no controller in this control plane would empty it."""
        for resource, name, namespace in reversed(self._made):
            await self._client.delete(resource, name, namespace)


@pytest.fixture
async def placed(client: Client) -> AsyncIterator[Placed]:
    placed = Placed(client)
    await placed.make()
    yield placed
    await placed.remove()


async def test_temporal_on_nodes_that_checks_select_is_reported_with_pods_nodes_and_checks(
    as_user: AsUser, control_plane: ControlPlane, transport: Transport, placed: Placed
) -> None:
    first, second = placed.nodes
    template = {"apiVersion": "v1", "kind": "NoTemplate", "name": "none", "namespace": "default"}
    selector = {"matchLabels": {"of": first}}
    spec = {"selector": selector, "minHealthy": "51%", "remediationTemplate": template}
    await placed.put(NODE_HEALTH_CHECKS, placed.namespace, "", spec=spec)
    condition = {"type": "Ready", "status": "False", "timeout": "300s"}
    labels = {"of": placed.namespace}
    of_machines = {"unhealthyConditions": [condition], "selector": {"matchLabels": labels}}
    await placed.put(MACHINE_CHECKS, "machines", spec=of_machines)
    await placed.put(MACHINES, "machine-2", metadata={"labels": labels}, spec={})
    linked = {"status": {"nodeRef": {"kind": "Node", "name": second}}}
    await Client(transport).merge_patch(MACHINES, "machine-2", linked, placed.namespace, "status")

    doctor, host = as_user(control_plane.kubeconfig), f"frontend.{placed.namespace}.svc.cluster.local"
    all_found = await findings(doctor, "--address", f"{host}:7233")
    (place,) = (finding for finding in all_found if f"{placed.namespace}/frontend" in finding.what)
    assert (place.reason, place.severity) == ("TemporalOnRemediatedNodes", FindingSeverity.WARNING)
    assert place.what.endswith(
        "and 2 of its 2 pods run on nodes that are remediated: "
        f"{first} (selected by NodeHealthCheck/{placed.namespace}); "
        f"{second} (selected by MachineHealthCheck/{placed.namespace}/machines)"
    )


async def test_temporal_in_this_cluster_is_found_by_ip_and_one_that_is_not_is_nothing_to_say(
    transport: Transport, placed: Placed
) -> None:
    management = ClusterConnection.over(transport)
    connections = ClusterConnections(management, WorkloadConnections(management.client))
    live = LiveObjects(connections, readers())
    place = TemporalPlace(management, live, placed.namespace)
    (found,) = await place.findings(placed.ip, [])
    assert (found.reason, found.severity) == ("TemporalInThisCluster", FindingSeverity.NOTE)
    (found,) = await place.findings("frontend", [])
    assert found.reason == "TemporalInThisCluster"
    for elsewhere in ("10.255.255.1", "nobody", f"nobody.{placed.namespace}", "prod.a1b2c.tmprl.cloud"):
        assert await place.findings(elsewhere, []) == []


async def test_missing_right_on_services_is_a_finding_where_the_address_may_be_one(
    as_user: AsUser, control_plane: ControlPlane
) -> None:
    doctor = as_user(control_plane.worker_kubeconfig)
    looked = ("doctor", "-o", "json", "--watch-for", "0")
    may_be = await doctor("--address", "frontend.temporal:7233", *looked)
    assert about(listed(may_be), "where Temporal runs") == ["CannotLook"]
    cannot_be = await doctor(*looked)
    assert about(listed(cannot_be), "where Temporal runs") == []
