"""A target whose Node is in another cluster is revalidated by that Node, and by none of its name here."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.live_objects import LiveObjects, Readers
from activities.revalidation import Confirmed, Revalidation
from activities.step_result import Held
from devcluster.simulation.resources import MACHINES
from health.gate.cluster_context import ClusterContext
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import Machine, MachineTarget
from health.model.observation import HoldReason
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.verdict import Fact
from kube.connection import ClusterConnection, ClusterConnections
from kube.errors import NotConfigured, Unreachable
from kube.resource import NAMESPACES, NODES, group_version_path, resource_of
from kube.transport import Transport
from objects.timestamps import stamp
from tests import objects
from tests.health.openshift.samples import CREATED, DELETE, NAMESPACE, NOT_READY, check_object
from tests.kube.api_server import ApiServer, refused, said
from workflows.contracts import ActInput

pytestmark = pytest.mark.rule("rule 2")

EAST = "east"
CHECKS = resource_of(MACHINE_HEALTH_CHECK)
NODE = NODES.path(name="node-1")
ORDER = ActInput(
    incident=IncidentReference(
        cluster="test",
        check=CheckReference(kind=CHECKS.kind, namespace=NAMESPACE, name="workers"),
        target=TargetReference(kind=MACHINES.kind, namespace=NAMESPACE, name="machine-1", uid="machine-uid"),
    ),
    run_id="run-1",
    step=DELETE,
    fact=Fact(condition="Ready", status="False", since=objects.NOW),
    generation=3,
)
MACHINE = {
    "metadata": {
        "name": "machine-1",
        "namespace": NAMESPACE,
        "uid": "machine-uid",
        "creationTimestamp": stamp(CREATED),
    },
    "status": {"phase": "Running", "nodeRef": {"kind": NODES.kind, "name": "node-1"}},
}


class MachineOfEast(MachineTarget):
    """A Machine of the management cluster, whose Node is in another."""

    node_cluster = EAST


async def read_machine_of_east(
    live: LiveObjects,
    reference: TargetReference,
    context: ClusterContext,  # noqa: ARG001  as TargetReader
) -> MachineOfEast:
    found = await live.management.client.get(MACHINES, reference.name, reference.namespace)
    target = MachineOfEast(Machine.model_validate(found))
    return replace(target, node=await live.node_of(target))


def node(uid: str, status: str) -> dict[str, Any]:
    return objects.node_object(objects.condition("Ready", status), uid=uid)


def serve_management(server: ApiServer) -> None:
    served = {"name": CHECKS.plural, "kind": CHECKS.kind, "namespaced": True}
    server.answer("GET", group_version_path(CHECKS.api_version), said({"resources": [served]}))
    check = check_object(unhealthyConditions=[NOT_READY])
    server.answer("GET", CHECKS.path(NAMESPACE, "workers"), said(check))
    server.answer("GET", MACHINES.path(NAMESPACE, "machine-1"), said(MACHINE))
    server.answer("GET", NAMESPACES.path(name="leases"), said({"metadata": {"name": "leases"}}))


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[tuple[ApiServer, ApiServer]]:
    for name in ("management", EAST):
        (tmp_path / name).mkdir()
    async with ApiServer(tmp_path / "management") as management, ApiServer(tmp_path / EAST) as east:
        serve_management(management)
        yield management, east


@pytest.fixture
async def connections(servers: tuple[ApiServer, ApiServer]) -> AsyncIterator[ClusterConnections]:
    here, there = (str(server.kubeconfig) for server in servers)
    async with await Transport.connect(here) as management, await Transport.connect(there) as east:
        workload = ClusterConnection.over(east, cluster=EAST)
        yield ClusterConnections(ClusterConnection.over(management), (workload,))


async def confirm(connections: ClusterConnections) -> Confirmed:
    readers = {MACHINE_HEALTH_CHECK.group_kind: Readers(read_machine_of_east)}
    return await Revalidation(LiveObjects(connections, readers), "leases").confirm(ORDER)


async def test_target_is_confirmed_by_its_node_in_the_other_cluster(
    servers: tuple[ApiServer, ApiServer], connections: ClusterConnections
) -> None:
    management, east = servers
    management.answer("GET", NODE, said(node("uid-here", "True")))
    east.answer("GET", NODE, said(node("uid-there", "False")))
    target = (await confirm(connections)).target
    assert isinstance(target, MachineOfEast)
    assert target.node is not None
    assert target.node.metadata.uid == "uid-there"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(said(node("uid-there", "True")), id="recovered"),
        pytest.param(refused(404, "NotFound", "node-1"), id="gone"),
    ],
)
async def test_node_of_that_name_here_confirms_nothing_that_is_no_longer_true_there(
    servers: tuple[ApiServer, ApiServer], connections: ClusterConnections, answer: Any
) -> None:
    management, east = servers
    management.answer("GET", NODE, said(node("uid-here", "False")))
    east.answer("GET", NODE, answer)
    with pytest.raises(Held, match="no longer true of machine-1") as held:
        await confirm(connections)
    assert held.value.hold.reason is HoldReason.NOT_TRUE


async def test_nothing_is_confirmed_while_the_other_cluster_does_not_answer(
    servers: tuple[ApiServer, ApiServer], connections: ClusterConnections
) -> None:
    await servers[1].stop()
    with pytest.raises(Unreachable):
        await confirm(connections)


async def test_nothing_is_confirmed_without_a_connection_to_the_other_cluster(
    connections: ClusterConnections,
) -> None:
    with pytest.raises(NotConfigured, match="no connection is configured to the cluster east"):
        await confirm(ClusterConnections(connections.management))
