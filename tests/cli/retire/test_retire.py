"""`paramedic retire` where no worker ever comes back, and where it must not begin."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from temporalio import activity
from temporalio.client import Client as TemporalClient
from temporalio.client import WorkflowExecutionStatus

from cli.retire.cluster import DEPLOYMENTS
from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from health.cluster.global_stop import STOP
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.evidence import LABEL
from health.model.moves import Phase
from health.model.remediation_request import INCIDENT
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.errors import none_if_absent
from kube.resource import CONFIG_MAPS, LEASES, NAMESPACES, NODES, Object, resource_of
from kube.transport import Transport
from objects.clusters import INSTALLATION_LABEL
from objects.timestamps import micro_time
from runtime import search_attributes
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, Installation, ParamedicStatusDocument
from runtime.process_names import DETECTOR, LEADER_LEASE, WORKER
from tests.support.api.ports import free_port
from tests.support.cluster.command import Command
from tests.support.cluster.installations import forget_installations
from tests.support.story.fleet import Fleet
from tests.support.story.world import REQUESTS
from tests.support.values.observations import expired
from workflows.contracts import ACT, ActInput, ActResult, worker_queue
from workflows.messages import WORKFLOW, RemediationInput

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

CHECKS = resource_of(MACHINE_HEALTH_CHECK)
HOLD = "paramedic.dev/hold"
PAUSED, MARK = "cluster.x-k8s.io/paused", "machine.openshift.io/paused-for-upgrade"


@pytest.fixture
def cluster_name() -> str:
    """One for each test: Temporal remembers for minutes who polled."""
    return f"r{uuid.uuid4().hex[:8]}"


@pytest.fixture
def namespace() -> str:
    """One of its own for each test: nothing ends namespaces here."""
    return f"retired-{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def client(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Client]:
    """A person with all rights; the namespace is there, and in the end nothing is in it."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        made = Client(transport)
        await made.create(NAMESPACES, {"metadata": {"name": namespace}})
        yield made
        for kind in (REQUESTS, LEASES, CHECKS, DEPLOYMENTS, CONFIG_MAPS):
            for one in await made.list(kind, namespace):
                await made.delete(kind, one["metadata"]["name"], namespace)


@pytest.fixture(autouse=True)
async def status(
    client: Client, control_plane: ControlPlane, namespace: str, cluster_name: str
) -> AsyncIterator[None]:
    """The status that this cluster's detector wrote before any failure; no other installation is there."""
    await forget_installations(control_plane)
    identity = await read_cluster_identity(client, cluster_name)
    installation = Installation(cluster=identity, lease_namespace=namespace)
    body = {"apiVersion": PARAMEDIC_STATUSES.api_version, "kind": PARAMEDIC_STATUSES.kind}
    made = await client.create(PARAMEDIC_STATUSES, body | {"metadata": {"name": NAME}}, namespace)
    patch = ParamedicStatusDocument(installation=installation).as_patch(made["metadata"]["resourceVersion"])
    await client.merge_patch(PARAMEDIC_STATUSES, NAME, patch, namespace, "status")
    yield
    await none_if_absent(client.delete(PARAMEDIC_STATUSES, NAME, namespace))


@pytest.fixture
async def left_behind(client: Client, idle_fleet: Fleet, cluster_name: str) -> AsyncIterator[Fleet]:
    """The incidents of a cluster whose worker is gone for good."""
    fleet = Fleet(idle_fleet.client, await read_cluster_identity(client, cluster_name))
    yield fleet
    await fleet.end()


@pytest.fixture
def command(
    control_plane: ControlPlane, temporal_server: TemporalServer, namespace: str, cluster_name: str
) -> Command:
    return Command(
        {
            "KUBECONFIG": str(control_plane.kubeconfig),
            **temporal_server.environment,
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "PARAMEDIC_CLUSTER": cluster_name,
            "PARAMEDIC_NAMESPACE": namespace,
            "PARAMEDIC_LEASE_NAMESPACE": namespace,
        }
    )


def lease(name: str, holder: str) -> Object:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 600, "renewTime": micro_time(datetime.now(UTC))}
    return {"metadata": {"name": name}, "spec": spec}


def deployment(name: str, *, replicas: int) -> Object:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "ours", "image": "any"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    return {"metadata": {"name": name}, "spec": spec}


async def test_objects_that_no_worker_can_clean_up_are_removed_with_the_rights_of_the_user(
    left_behind: Fleet, client: Client, command: Command, namespace: str, control_plane: ControlPlane
) -> None:
    await left_behind.fail("node-1", expired())
    await left_behind.listed("Running", 1)
    incident = left_behind.incident("node-1")
    labels = {INSTALLATION_LABEL: incident.cluster}
    signed = {"name": "node-1", "labels": labels, "annotations": {INCIDENT: incident.workflow_id}}
    typed = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind}
    await client.create(REQUESTS, typed | {"metadata": signed}, namespace)
    copied = {"name": "of-somebody", "labels": labels}
    await client.create(REQUESTS, typed | {"metadata": copied}, namespace)
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        of_worker = lease("node-node-1", incident.check.lease_holder)
        await Client(transport, WORKER, labels).create(LEASES, of_worker, namespace)
    await client.create(LEASES, lease("node-node-2", "node-maintenance"), namespace)
    ordered = {HOLD: "a disk", "theirs": "kept"}
    await client.create(NODES, {"metadata": {"name": namespace, "annotations": ordered}})
    for name, annotations in (
        ("paused", {PAUSED: "", MARK: "", HOLD: "both"}),
        ("paused-by-ada", {PAUSED: ""}),
    ):
        check = {"apiVersion": CHECKS.api_version, "kind": CHECKS.kind, "spec": {"selector": {}}}
        metadata = {"name": name, "annotations": annotations}
        await client.create(CHECKS, check | {"metadata": metadata}, namespace)

    evidence = {"name": "paramedic-evidence-1", "labels": {LABEL: "true"}}
    await client.create(CONFIG_MAPS, {"metadata": evidence}, namespace)

    await client.create(DEPLOYMENTS, deployment(DETECTOR, replicas=1), namespace)
    waited = await command("retire", "--timeout", "3s")
    assert (waited.code, len(waited.out.splitlines())) == (1, 1)
    assert f"the detector of Deployment/{namespace}/paramedic-detector runs: `kubectl -n" in waited.err
    assert "`paramedic retire` goes on from here" in waited.err

    await client.merge_patch(DEPLOYMENTS, DETECTOR, {"spec": {"replicas": 0}}, namespace)
    ran = await command("retire", "--timeout", "1m")

    assert ran.code == 0, ran.err
    assert "workers/node-1 has ended: no worker is there that could clean up" in ran.out
    assert f"deleted {REQUESTS.kind}/{namespace}/node-1: " in ran.out
    assert f"unpaused MachineHealthCheck/{namespace}/paused: " in ran.out
    for one in (f"MachineHealthCheck/{namespace}/paused", f"Node/{namespace}"):
        assert f"removed the orders on {one}: no detector takes {HOLD} any more" in ran.out
    annotations = (await client.get(NODES, namespace))["metadata"]["annotations"]
    await client.delete(NODES, namespace)
    assert HOLD not in annotations
    assert annotations["theirs"] == "kept"
    delete = f"`kubectl delete configmaps -n {namespace} -l {LABEL}` deletes it"
    assert f"left 1 ConfigMaps with evidence in {namespace}, for people: {delete}" in ran.out
    remaining = {
        (kind.kind, one["metadata"]["name"])
        for kind in (REQUESTS, LEASES)
        for one in await client.list(kind, namespace)
    }
    assert remaining == {(REQUESTS.kind, "of-somebody"), ("Lease", "node-node-2")}
    for name, kept in (("paused", {}), ("paused-by-ada", {PAUSED: ""})):
        stored = await client.get(CHECKS, name, namespace)
        assert (stored["metadata"].get("annotations") or {}) == kept
    terminated = await left_behind.handle("node-1").describe()
    assert terminated.status is not None
    assert terminated.status.name == "TERMINATED"
    assert STOP in (await client.get(NAMESPACES, namespace))["metadata"]["annotations"]


async def test_without_temporal_objects_with_a_known_owner_are_removed_and_the_others_are_named(
    left_behind: Fleet, client: Client, command: Command, namespace: str, control_plane: ControlPlane
) -> None:
    gone = {"TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"}
    incident = left_behind.incident("node-3")
    labels = {INSTALLATION_LABEL: incident.cluster}
    signed = {"name": "node-3", "labels": labels, "annotations": {INCIDENT: incident.workflow_id}}
    typed = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind}
    await client.create(REQUESTS, typed | {"metadata": signed}, namespace)
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        for node in ("node-3", "node-4"):
            of_worker = lease(f"node-{node}", incident.check.lease_holder)
            await Client(transport, WORKER, labels).create(LEASES, of_worker, namespace)
    await client.create(LEASES, lease("node-node-2", "node-maintenance"), namespace)
    await client.create(DEPLOYMENTS, deployment(WORKER, replicas=1), namespace)

    planned = await command("retire", "--without-temporal", "--dry-run", **gone)
    assert (planned.code, planned.err) == (0, "")
    assert f"wait for the worker of Deployment/{namespace}/paramedic-worker to end: `kubectl" in planned.out

    await client.merge_patch(DEPLOYMENTS, WORKER, {"spec": {"replicas": 0}}, namespace)
    ran = await command("retire", "--without-temporal", "--timeout", "1m", **gone)
    assert ran.code == 0, ran.err
    assert f"terminate those with ParamedicCluster = '{incident.cluster}' before a worker starts" in ran.out
    assert await client.list(REQUESTS, namespace) == []
    assert [one["metadata"]["name"] for one in await client.list(LEASES, namespace)] == ["node-node-2"]


class SlowFleet(Fleet):
    """Its worker is in the middle of an act until it is let go."""

    def __init__(self, client: TemporalClient, cluster: str) -> None:
        super().__init__(client, cluster)
        self.is_acting, self.may_go_on = asyncio.Event(), asyncio.Event()

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        self.is_acting.set()
        await self.may_go_on.wait()
        return await super().act(act)


@pytest.mark.usefixtures("client")
async def test_incident_is_not_ended_in_the_middle_of_an_act(left_behind: Fleet, command: Command) -> None:
    fleet = SlowFleet(left_behind.client, left_behind.cluster)
    async with fleet.at_work():
        await fleet.fail("node-2", expired())
        await fleet.is_acting.wait()
        await fleet.listed("Running", 1)

        waited = await command("retire", "--hand-over", "--timeout", "3s")
        assert waited.code == 1
        assert "not retired yet: workers/node-2: act is at work" in waited.err
        assert (await fleet.state("node-2")).phase == Phase.ACTING

        fleet.may_go_on.set()
        ran = await command("retire", "--hand-over", "--timeout", "1m")
        assert ran.code == 0, ran.err
        assert "workers/node-2 has ended: what exists is left to the operators" in ran.out
        assert list(fleet.requests) == ["node-2"]


async def is_untouched(client: Client, namespace: str) -> bool:
    """True if the installation has its leader Lease, and no stop."""
    (leader,) = await client.list(LEASES, namespace)
    annotations = (await client.get(NAMESPACES, namespace))["metadata"].get("annotations", {})
    return leader["metadata"]["name"] == LEADER_LEASE and STOP not in annotations


@pytest.mark.parametrize(
    ("options", "action"), [((), "abort it"), (("--hand-over",), "leave what exists of it")]
)
async def test_dry_run_says_what_becomes_of_each_open_incident(
    left_behind: Fleet, command: Command, options: tuple[str, ...], action: str
) -> None:
    await left_behind.fail("node-1", expired())
    await left_behind.listed("Running", 1)
    planned = await command("retire", "--dry-run", *options)
    assert (planned.code, planned.err) == (0, "")
    assert f"workers/node-1: {action}, and end it" in planned.out.splitlines()


@pytest.mark.parametrize("how", [(), ("--dry-run",), ("--without-temporal",), ("--hand-over",)])
async def test_name_that_is_not_the_installed_one_is_refused_before_the_first_write(
    left_behind: Fleet, client: Client, command: Command, namespace: str, how: tuple[str, ...]
) -> None:
    installed = left_behind.cluster
    await left_behind.fail("node-1", expired())
    await left_behind.listed("Running", 1)
    of_leader = lease(LEADER_LEASE, "") | {
        "metadata": {"name": LEADER_LEASE, "labels": {INSTALLATION_LABEL: installed}}
    }
    await client.create(LEASES, of_leader, namespace)

    ran = await command("retire", *how, "--cluster", "typo", "--timeout", "5s")

    assert (ran.code, ran.out) == (3, "")
    assert "this cluster has no installation called typo-" in ran.err
    assert f"nothing was changed: it has {installed}" in ran.err
    assert await is_untouched(client, namespace)
    assert (await left_behind.handle("node-1").describe()).close_time is None


async def test_installation_of_which_only_workflows_are_left_makes_another_name_unknown(
    left_behind: Fleet, client: Client, command: Command, namespace: str
) -> None:
    await client.delete(PARAMEDIC_STATUSES, NAME, namespace)
    await left_behind.fail("node-1", expired())
    await left_behind.listed("Running", 1)

    ran = await command("retire", "--cluster", "typo")

    assert (ran.code, ran.out) == (3, "")
    assert f"it has {left_behind.cluster}" in ran.err


async def test_other_installation_of_the_cluster_keeps_its_incidents_and_objects(
    left_behind: Fleet, client: Client, command: Command, idle_fleet: Fleet, namespace: str
) -> None:
    other = Fleet(idle_fleet.client, await read_cluster_identity(client, f"o{uuid.uuid4().hex[:8]}"))
    await other.fail("node-9", expired())
    await other.listed("Running", 1)
    typed = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind}
    labels = {INSTALLATION_LABEL: other.cluster}
    await client.create(REQUESTS, typed | {"metadata": {"name": "node-9", "labels": labels}}, namespace)
    try:
        ran = await command("retire", "--timeout", "1m")
        assert (ran.code, f"{left_behind.cluster} is retired" in ran.out) == (0, True), ran.err
        assert (await other.handle("node-9").describe()).close_time is None
        assert len(await client.list(REQUESTS, namespace)) == 1
    finally:
        await other.end()


async def test_installation_that_never_had_an_incident_is_retired_and_then_nothing_is_left(
    left_behind: Fleet, client: Client, command: Command, namespace: str
) -> None:
    labels = {INSTALLATION_LABEL: left_behind.cluster}
    of_leader = {"metadata": {"name": LEADER_LEASE, "labels": labels}}
    await client.create(LEASES, lease(LEADER_LEASE, "") | of_leader, namespace)
    ran = await command("retire", "--timeout", "1m")
    assert ran.code == 0, ran.err
    assert await client.list(LEASES, namespace) == await client.list(PARAMEDIC_STATUSES, namespace) == []

    again = await command("retire", "--timeout", "1m")
    assert (again.code, f"nothing is left of {left_behind.cluster}" in again.out) == (0, True), again.err


async def test_copies_of_workflows_under_other_ids_are_named_and_ended(
    left_behind: Fleet, command: Command
) -> None:
    incident = left_behind.incident("node-1")
    copy = await left_behind.client.start_workflow(
        WORKFLOW,
        RemediationInput(incident=incident),
        id=f"{incident.workflow_id}-copy",
        task_queue=worker_queue(left_behind.cluster),
        search_attributes=search_attributes.of_incident(incident),
    )
    await left_behind.listed("Running", 1)
    assert f"{copy.id}: end it" in (await command("retire", "--dry-run")).out.splitlines()

    ran = await command("retire", "--timeout", "1m")
    assert ran.code == 0, ran.err
    assert f"{copy.id} has ended: nothing of Paramedic goes on here" in ran.out
    assert (await copy.describe()).status is WorkflowExecutionStatus.TERMINATED


@pytest.mark.parametrize("variable", ["PARAMEDIC_NAMESPACE", "PARAMEDIC_LEASE_NAMESPACE"])
async def test_namespace_that_is_not_the_installed_one_is_refused(
    client: Client, command: Command, namespace: str, variable: str
) -> None:
    ran = await command("retire", **{variable: "default"})

    assert (ran.code, ran.out) == (3, "")
    assert f"has {variable}={namespace}, and default is given" in ran.err
    assert STOP not in (await client.get(NAMESPACES, "default"))["metadata"].get("annotations", {})


@pytest.fixture
async def operator(client: Client, namespace: str) -> None:
    await client.create(LEASES, lease(NODE_HEALTH_CHECK.operator_lease, "its-pod"), namespace)


@pytest.mark.usefixtures("operator")
async def test_beside_an_operator_that_runs_nothing_is_removed(
    client: Client, command: Command, namespace: str
) -> None:
    ran = await command("retire")

    assert (ran.code, ran.out) == (1, "")
    assert f"'its-pod' holds the Lease {namespace}/e1f13584.medik8s.io" in ran.err
    assert "--hand-over leaves all to it" in ran.err
    assert STOP not in (await client.get(NAMESPACES, namespace))["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "words"),
    [
        (("--timeout", "soon"), {}, 2, "Invalid value for '--timeout': 'soon'"),
        (("--cluster", "Prod"), {}, 2, "--cluster"),
        ((), {"PARAMEDIC_CLUSTER": ""}, 2, "PARAMEDIC_CLUSTER"),
        ((), {"TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"}, 4, "Temporal"),
        ((), {"KUBECONFIG": "/nowhere"}, 1, "/nowhere"),
    ],
)
async def test_invalid_options_are_refused_before_any_change(
    command: Command, arguments: tuple[str, ...], environment: dict[str, str], code: int, words: str
) -> None:
    ran = await command("retire", *arguments, **environment)

    assert (ran.code, ran.out) == (code, "")
    assert words.casefold() in ran.err.casefold()
    assert len(ran.err.splitlines()) == 1


async def test_missing_right_to_read_our_objects_is_reported_before_any_change(
    command: Command, control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    ran = await command("retire", KUBECONFIG=str(control_plane.detector_kubeconfig))

    assert (ran.code, ran.out) == (1, "")
    assert "cannot list" in ran.err or "403" in ran.err
    assert STOP not in (await client.get(NAMESPACES, namespace))["metadata"].get("annotations", {})
