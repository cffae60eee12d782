"""A target whose Node is in another cluster is revalidated against that Node only."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.attempt import StepHeld
from activities.kind_activities import KindActivities
from activities.live_objects import LiveObjects
from activities.openshift.kind import MachineActivities
from activities.revalidation import Confirmed, Revalidation
from devcluster.simulation.resources import MACHINES
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.cluster.cluster_identity import ANNOTATION
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import Machine, MachineTarget
from health.model.observation import HoldReason
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.target import Target
from health.model.verdict import Fact
from health.policy.policy import POLICY
from kube.connection import ClusterConnection, ClusterConnections, WorkloadConnections
from kube.errors import NotConfigured, Unreachable
from kube.resource import (
    CONFIG_MAPS,
    KUBE_SYSTEM,
    LEASES,
    NAMESPACES,
    NODES,
    SECRETS,
    group_version_path,
    resource_of,
)
from kube.transport import Transport
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from objects.group_kind import GroupKind
from objects.timestamps import stamp
from tests.support.api.api_server import ApiServer, refused, said
from tests.support.api.kubeconfigs import EAST, SECRET, SECRET_PATH, Pair, encoded, kubeconfig, secret_of
from tests.support.values import builders as objects
from tests.support.values.openshift import CREATED, DELETE, NAMESPACE, NOT_READY, check_object
from workflows.contracts import ActInput

pytestmark = pytest.mark.rule("rule 2")

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
    """A Machine of the management cluster, whose Node is in another cluster."""

    node_cluster = EAST


class ActivitiesOfEast(MachineActivities):
    """Those for Machines whose Nodes are in another cluster, with this kubeconfig."""

    def __init__(self, kubeconfig: SecretField | None) -> None:
        self._kubeconfig = kubeconfig

    async def read_target(
        self,
        live: LiveObjects,
        reference: TargetReference,
        context: ClusterContext,  # noqa: ARG002  as KindActivities
    ) -> MachineOfEast:
        found = await live.management.client.get(MACHINES, reference.name, reference.namespace)
        target = MachineOfEast(Machine.model_validate(found))
        return replace(target, node=await live.node_of(target, self._kubeconfig))


def node(uid: str, status: str) -> dict[str, Any]:
    return objects.node_object(objects.condition("Ready", status), uid=uid)


def serve_management(server: ApiServer) -> None:
    served = {"name": CHECKS.plural, "kind": CHECKS.kind, "namespaced": True}
    server.answer("GET", group_version_path(CHECKS.api_version), said({"resources": [served]}))
    check = check_object(unhealthyConditions=[NOT_READY])
    server.answer("GET", CHECKS.path(NAMESPACE, "workers"), said(check))
    server.answer("GET", MACHINES.path(NAMESPACE, "machine-1"), said(MACHINE))
    server.answer("GET", NAMESPACES.path(name="leases"), said({"metadata": {"name": "leases"}}))
    server.answer("GET", CONFIG_MAPS.path("ours", POLICY), refused(404, "NotFound", POLICY))
    serve_note(server, json.dumps({EAST: {"uid": "uid-of-east"}}))


def serve_kubeconfig(management: ApiServer, east: ApiServer, pair: Pair) -> None:
    content = kubeconfig(f"https://127.0.0.1:{east.port}")
    content["clusters"][0]["cluster"]["certificate-authority-data"] = encoded(pair.certificate)
    management.answer("GET", SECRET_PATH, said(secret_of(content)))


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[tuple[ApiServer, ApiServer]]:
    for name in ("management", "east"):
        (tmp_path / name).mkdir()
    pair = Pair.make(tmp_path / "pair", "east")
    async with (
        ApiServer(tmp_path / "management") as management,
        ApiServer(tmp_path / "east", pair.serving()) as east,
    ):
        serve_management(management)
        serve_kubeconfig(management, east, pair)
        yield management, east


@pytest.fixture
async def connections(servers: tuple[ApiServer, ApiServer]) -> AsyncIterator[ClusterConnections]:
    async with await Transport.connect(str(servers[0].kubeconfig)) as transport:
        management = ClusterConnection.over(transport)
        async with WorkloadConnections(management.client) as workload_clusters:
            yield ClusterConnections(management, workload_clusters)


async def confirm(
    connections: ClusterConnections, kubeconfig: SecretField | None = SECRET, order: ActInput = ORDER
) -> Confirmed[HealthCheck, Target]:
    readers: dict[GroupKind, KindActivities[Any, Any]] = {
        MACHINE_HEALTH_CHECK.group_kind: ActivitiesOfEast(kubeconfig)
    }
    live = LiveObjects(connections, readers, ("ours", "leader"))
    return await Revalidation(live, "leases", "ours").confirm(order)


def serve_note(management: ApiServer, text: str | None) -> None:
    """Serve the detector's note of known clusters; None means that it has noted none yet."""
    lease = LEASES.path("ours", "leader")
    annotations = {} if text is None else {ANNOTATION: text}
    management.forget("GET", lease)
    management.answer("GET", lease, said({"metadata": {"name": "leader", "annotations": annotations}}))


@pytest.mark.rule("rule 50")
@pytest.mark.parametrize(
    ("noted", "why"),
    [
        ('{"fleet/east": {"uid": "another"}}', "is uid-of-east, it was another"),
        ('{"fleet/east": {"uid": "uid-of-east", "owner": "of-an-earlier-cluster"}}', "is uid-of-east"),
        ('{"fleet/west": {"uid": "uid-of-east"}}', "no detector has recorded it"),
        (None, "no detector has recorded it"),
        ("{", "cannot be read"),
    ],
)
async def test_target_is_not_confirmed_by_another_cluster_than_the_one_that_is_known(
    servers: tuple[ApiServer, ApiServer], connections: ClusterConnections, noted: str | None, why: str
) -> None:
    management, east = servers
    east.answer("GET", NODE, said(node("uid-there", "False")))
    serve_note(management, noted)
    with pytest.raises(StepHeld) as held:
        await confirm(connections)
    assert held.value.hold.reason is HoldReason.WORKLOAD_CLUSTER_CHANGED
    assert why in held.value.hold.message


@pytest.mark.rule("rule 50")
async def test_target_is_not_confirmed_by_a_cluster_without_the_namespace_kube_system(
    servers: tuple[ApiServer, ApiServer], connections: ClusterConnections
) -> None:
    _, east = servers
    kube_system = f"{NAMESPACES.path()}/{KUBE_SYSTEM}"
    east.forget("GET", kube_system)
    east.answer("GET", kube_system, refused(404, "NotFound", KUBE_SYSTEM))
    with pytest.raises(StepHeld) as held:
        await confirm(connections)
    assert held.value.hold.reason is HoldReason.WORKLOAD_CLUSTER_CHANGED
    assert "it has no namespace kube-system" in held.value.hold.message


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


@pytest.mark.rule("rule 61")
@pytest.mark.parametrize(("identity", "quorum"), [("test-1a2b3c4d", MANAGEMENT_CLUSTER), ("test", EAST)])
async def test_members_of_a_cluster_that_manages_itself_take_turns_with_those_here(
    servers: tuple[ApiServer, ApiServer], connections: ClusterConnections, identity: str, quorum: str
) -> None:
    management, east = servers
    uid = "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9"
    east.is_cluster(uid)
    member = objects.node_object(
        objects.condition("Ready", "False"), labels={"node-role.kubernetes.io/etcd": "true"}
    )
    east.answer("GET", NODE, said(member))
    serve_note(management, json.dumps({EAST: {"uid": uid}}))
    incident = ORDER.incident.model_copy(update={"cluster": identity})
    confirmed = await confirm(connections, order=ORDER.model_copy(update={"incident": incident}))
    assert confirmed.quorum == quorum


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
    with pytest.raises(StepHeld, match="no longer true of machine-1") as held:
        await confirm(connections)
    assert held.value.hold.reason is HoldReason.NOT_TRUE


async def test_nothing_is_confirmed_while_the_other_cluster_does_not_answer(
    servers: tuple[ApiServer, ApiServer], connections: ClusterConnections
) -> None:
    await servers[1].stop()
    with pytest.raises(Unreachable):
        await confirm(connections)


async def test_nothing_is_confirmed_where_the_secret_with_its_kubeconfig_is_gone(
    servers: tuple[ApiServer, ApiServer], connections: ClusterConnections
) -> None:
    gone = SecretField("fleet", "gone", "value")
    servers[0].answer("GET", SECRETS.path("fleet", "gone"), refused(404, "NotFound", "gone"))
    with pytest.raises(NotConfigured, match=f"There is no kubeconfig in {gone}"):
        await confirm(connections, gone)


async def test_nothing_is_confirmed_where_no_secret_is_known(connections: ClusterConnections) -> None:
    with pytest.raises(NotConfigured, match=f"no Secret with a kubeconfig of the cluster {EAST} is known"):
        await confirm(connections, None)
