"""Targets in one cluster, Nodes in another: facts of one, and their age, say nothing about the other."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest
from aiohttp import web

from detector.answers.observation_builder import ObservationBuilder
from detector.context import cluster_notes
from detector.context.cluster_notes import BLIND_TIMES, LeaseNotes, NoteLease
from detector.feeds import workload_clusters
from detector.feeds.node_watch import LOST, BlindTime
from detector.feeds.workload_clusters import WorkloadAccess
from detector.state.cluster_state import ClusterState
from detector.state.target_store import lease_of_its_node
from devcluster.simulation.resources import MACHINES, NODE_HEALTH_CHECKS
from health.cluster.cluster_identity import NOT_KNOWN, KnownCluster
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.check import MachineHealthCheck
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import MachineTarget
from health.model.node import Node
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.target import Target, TargetName, node_name
from health.policy.policy import Policy
from kube.connection import ClusterConnection
from kube.errors import NotConfigured
from kube.reflector_settings import ReflectorSettings, Waits, Watching
from kube.resource import LEASES, NAMESPACES, NODES, resource_of
from kube.transport import Transport
from objects.clusters import SecretField, cluster_identity
from runtime.problems import Problems
from tests.support.api.api_server import NOT_SERVED, ApiServer, lines, said
from tests.support.api.eventually import eventually
from tests.support.state.sources import Sources, Watched
from tests.support.values import builders as objects
from tests.support.values.openshift import NAMESPACE, NOT_READY, machine
from tests.support.values.openshift import check_object as check_of_machines

pytestmark = pytest.mark.rule("rule 3")

EAST = "east"
CHANGED = HoldReason.WORKLOAD_CLUSTER_CHANGED
UNREACHABLE = HoldReason.WORKLOAD_CLUSTER_UNREACHABLE
OF_NODES = CheckReference(kind="NodeHealthCheck", name="workers")
OF_MACHINES = CheckReference(kind="MachineHealthCheck", namespace=NAMESPACE, name="workers")
UNREAD = HoldReason.CLUSTER_CONTEXT_UNREAD
LIMIT = timedelta(minutes=1)
"""The age of a cache that holds its checks; longer than any pause of a slow machine."""
SHORT_LIMIT = timedelta(seconds=1)
"""The same while a test waits for the hold by a server that is stopped."""
LEADER = LEASES.path("ours", "leader")
OFTEN = ReflectorSettings(
    watching=Watching(proof_every=timedelta(seconds=0.2)), waits=Waits(longest=timedelta(seconds=0.2))
)
FAILED = objects.condition("Ready", "False")
HEALTHY = objects.condition("Ready", "True")


@pytest.fixture(autouse=True)
def nodes_are_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind of check whose targets have their Nodes in another cluster."""
    monkeypatch.setattr(MachineHealthCheck, "node_cluster", lambda *_: EAST)


def kubeconfig(cluster: str) -> SecretField:
    return SecretField(NAMESPACE, f"{cluster}-kubeconfig", "value")


class MachineOfEast(MachineTarget):
    """A Machine of the management cluster, whose Node is in another cluster."""

    node_cluster = EAST


def listed(*objects: dict[str, Any]) -> dict[str, Any]:
    items = [one | {"metadata": one["metadata"] | {"resourceVersion": "9"}} for one in objects]
    return {"metadata": {"resourceVersion": "10"}, "items": items}


def node(uid: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    return objects.node_object(*conditions, labels={"role": "worker"}, name="node-1", uid=uid)


def serve(server: ApiServer, path: str, *objects: dict[str, Any]) -> None:
    """Serve these objects, at a version that a consistent read confirms."""
    server.answer("GET", path, said(listed(*objects)))
    server.version(path, said(listed()))
    server.watch(path, lines(then="silent"))


class Connect(Protocol):
    """Makes a detector that has just started."""

    def __call__(self, known: dict[str, KnownCluster] | None = None) -> "TwoClusters":
        """`known` are the notes of an earlier detector."""


class TwoClusters:
    """Sources over the management cluster and `east`, each with a node-1, and their answers."""

    def __init__(
        self,
        management: ClusterConnection,
        east: ClusterConnection,
        known: dict[str, KnownCluster] | None = None,
    ) -> None:
        self.cluster_state = ClusterState("test")
        lease = NoteLease(management.client, "ours", "leader", Problems())
        self.blind_times = LeaseNotes(BLIND_TIMES, lease)
        self.reached = {EAST: east}
        self.skew_of_management = timedelta(0)
        access = WorkloadAccess(
            self._connect, self._close, self.blind_times.of, lambda: self.skew_of_management
        )
        kinds = (NODE_HEALTH_CHECK, replace(MACHINE_HEALTH_CHECK, kubeconfig=kubeconfig))
        scope = Watched(
            upgrade_signals=(),
            kinds=kinds,
            reflectors=lambda: OFTEN,
            workload_clusters=access,
            known_cluster=lambda cluster: (known or {}).get(cluster, NOT_KNOWN),
        )
        self.policy = Policy.model_construct(staleness_limit=LIMIT)
        self.sources = Sources(management, self.cluster_state, scope, Problems(), lambda: self.policy)

    async def _connect(self, cluster: str, secret: SecretField) -> ClusterConnection:
        if cluster not in self.reached:
            raise NotConfigured(f"There is no {secret}.")
        return self.reached[cluster]

    async def _close(self, cluster: str) -> None: ...

    @asynccontextmanager
    async def open(self, *, is_whole: bool = True) -> AsyncIterator[None]:
        """As a leading detector that has read everything, unless `is_whole` is false."""
        await self.blind_times.read()
        leading = self.blind_times.lead(self.sources.context.blind_times)
        running = [asyncio.create_task(one) for one in (self.sources.run(), leading)]
        try:
            await eventually(self._is_known if is_whole else self._knows_checks)
            yield
        finally:
            for task in running:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    @contextmanager
    def limited_to(self, limit: timedelta) -> Iterator[None]:
        """Hold the checks of a cluster that was not proven for this time, during the block."""
        self.policy = Policy.model_construct(staleness_limit=limit)
        yield
        self.policy = Policy.model_construct(staleness_limit=LIMIT)

    def _knows_checks(self) -> bool:
        checks = {OF_NODES, OF_MACHINES} <= self.cluster_state.checks.keys()
        return checks and self.node() is not None

    def _is_known(self) -> bool:
        return self._knows_checks() and self.sources.of_checks.is_read(OF_MACHINES)

    def node(self, cluster: str = "") -> Target | None:
        name = node_name("node-1", cluster)
        return self.cluster_state.targets.at(name.place).get(name.name)

    def link_machine(self) -> None:
        """Join the Machine with its Node from the other cluster, as a kind with such Machines would do."""
        found = self.node(EAST)
        assert isinstance(found, Node)
        target = MachineOfEast(machine(), found)
        self.cluster_state.target_changed(TargetName("Machine", NAMESPACE, target.metadata.name), target)

    def annotate_check(self, annotations: dict[str, str]) -> None:
        known = self.cluster_state.checks[OF_MACHINES]
        metadata = known.record.metadata.model_copy(update={"annotations": annotations})
        record = known.record.model_copy(update={"metadata": metadata})
        self.cluster_state.check_changed(known.kind, OF_MACHINES, record)
        self.link_machine()

    @property
    def why_of_machine(self) -> str:
        return str(self.of_machine.hold)

    def observe(self, check: CheckReference, target: TargetReference) -> Observation:
        incident = IncidentReference(cluster="test", check=check, target=target)
        freshness = self.sources.of_checks.freshness(check)
        return ObservationBuilder(
            cluster_state=self.cluster_state, incident=incident, freshness=freshness, now=datetime.now(UTC)
        ).observation()

    @property
    def of_node(self) -> Observation:
        return self.observe(OF_NODES, TargetReference(kind="Node", name="node-1", uid="uid-here"))

    @property
    def of_machine(self) -> Observation:
        name = TargetReference(kind="Machine", namespace=NAMESPACE, name="machine-1", uid="machine-uid")
        return self.observe(OF_MACHINES, name)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[tuple[ApiServer, ApiServer]]:
    for name in ("management", EAST):
        (tmp_path / name).mkdir()
    async with ApiServer(tmp_path / "management") as management, ApiServer(tmp_path / EAST) as east:
        of_machines = resource_of(MACHINE_HEALTH_CHECK).path()
        serve(management, NODE_HEALTH_CHECKS.path(), objects.check_object(unhealthyConditions=[CONDITION]))
        serve(management, of_machines, check_of_machines(unhealthyConditions=[NOT_READY]))
        for path in (MACHINES.path(), NAMESPACES.path(), LEASES.path("leases")):
            serve(management, path)
        management.answer("GET", "/apis/example.com/v1", NOT_SERVED)
        yield management, east


CONDITION_SECONDS = 300
CONDITION = {"type": "Ready", "status": "False", "duration": f"{CONDITION_SECONDS}s"}


class LeaderLease:
    """The leader Lease, as far as it keeps blind times."""

    def __init__(self, server: ApiServer) -> None:
        self.annotations: dict[str, str] = {}
        server.answer("GET", LEADER, self._answer)
        server.answer("PATCH", LEADER, self._patch)

    @property
    def noted(self) -> str:
        return self.annotations.get(BLIND_TIMES.annotation, "")

    async def _answer(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"metadata": {"name": "leader", "annotations": self.annotations}})

    async def _patch(self, request: web.Request) -> web.StreamResponse:
        self.annotations |= (await request.json())["metadata"]["annotations"]
        return await self._answer(request)


@pytest.fixture
def leader_lease(servers: tuple[ApiServer, ApiServer], monkeypatch: pytest.MonkeyPatch) -> LeaderLease:
    monkeypatch.setattr(cluster_notes, "LOOK_SECONDS", 0.1)
    return LeaderLease(servers[0])


@pytest.fixture
def clusters(connect: Connect) -> TwoClusters:
    return connect()


@pytest.fixture
async def connect(
    servers: tuple[ApiServer, ApiServer],
    leader_lease: LeaderLease,  # noqa: ARG001  it is to be served
) -> AsyncIterator[Connect]:
    here, there = (str(server.kubeconfig) for server in servers)
    async with await Transport.connect(here) as management, await Transport.connect(there) as east:
        connections = ClusterConnection.over(management), ClusterConnection.over(east, cluster=EAST)
        yield lambda known=None: TwoClusters(*connections, known)


async def test_two_nodes_of_one_name_in_two_clusters_stay_apart(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters
) -> None:
    management, east = servers
    serve(management, NODES.path(), node("uid-here", HEALTHY))
    serve(east, NODES.path(), node("uid-there", FAILED))
    async with clusters.open():
        here, there = clusters.node(), clusters.node(EAST)
        assert here is not None
        assert there is not None
        assert (here.metadata.uid, there.metadata.uid) == ("uid-here", "uid-there")
        assert clusters.of_node.state is TargetState.HEALTHY
        assert list(clusters.cluster_state.all_wanted()) == []
        assert {"nodes", "nodes of east"} <= clusters.sources.ages().keys()


async def test_node_that_cannot_be_read_in_one_cluster_is_none_that_cannot_be_read_in_the_other(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters
) -> None:
    management, east = servers
    serve(management, NODES.path(), node("uid-here", HEALTHY))
    serve(east, NODES.path(), node("uid-there") | {"status": {"conditions": "none"}})
    async with clusters.open():
        assert clusters.node(EAST) is None
        assert clusters.cluster_state.targets.is_unreadable(node_name("node-1", EAST))
        assert not clusters.cluster_state.targets.is_unreadable(node_name("node-1"))
        assert clusters.of_node.state is TargetState.HEALTHY


@pytest.mark.rule("rule 61")
@pytest.mark.parametrize(("uid", "self_managed"), [("uid-of-east", {EAST}), ("another", set())])
async def test_workload_cluster_with_the_uid_of_this_one_is_this_one(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters, uid: str, self_managed: set[str]
) -> None:
    for server in servers:
        serve(server, NODES.path(), node("uid-here", HEALTHY))
    clusters.cluster_state.cluster = cluster_identity("test", uid)
    async with clusters.open():
        assert clusters.cluster_state.cluster_context.self_managed == self_managed


@pytest.mark.rule("rule 61")
async def test_cluster_that_is_this_one_is_known_as_such_while_it_cannot_be_reached(
    servers: tuple[ApiServer, ApiServer], connect: Connect
) -> None:
    serve(servers[0], NODES.path(), node("uid-here", HEALTHY))
    clusters = connect({EAST: KnownCluster(uid="uid-of-east")})
    clusters.reached.clear()
    clusters.cluster_state.cluster = cluster_identity("test", "uid-of-east")
    async with clusters.open(is_whole=False):
        await eventually(lambda: clusters.cluster_state.cluster_context.self_managed == {EAST})


@pytest.mark.rule("rule 43")
async def test_all_requests_of_a_kind_that_is_not_served_are_known_as_there_are_none(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters
) -> None:
    for server in servers:
        serve(server, NODES.path(), node("uid-here", FAILED))
    async with clusters.open():
        await eventually(lambda: clusters.sources.of_checks.is_proven(OF_NODES, LIMIT))
        unread = clusters.sources.of_checks.freshness(OF_NODES).inputs.unread_requests
        assert "serves no kind" in str(unread), "steps stay held"


@pytest.mark.rule("rule 13/Machine")
def test_lease_of_a_node_here_says_nothing_of_one_of_its_name_in_another_cluster() -> None:
    linked = machine(node_name="node-1")
    assert lease_of_its_node(MachineTarget(linked)) == "node-node-1"
    assert lease_of_its_node(MachineOfEast(linked)) == ""


@pytest.mark.rule("rule 33/clocks", "rule 33/restart")
async def test_notes_of_clusters_that_are_not_named_yet_are_kept(
    clusters: TwoClusters, leader_lease: LeaderLease
) -> None:
    noted = '"fleet/east":{"is_lost":true}'
    groups = '"/":{"is_lost":true},"/a":{"is_lost":true},"fleet/east/":{"is_lost":true},"fleet/east/a":{}'
    leader_lease.annotations[BLIND_TIMES.annotation] = f"{{{noted},{groups}}}"
    await clusters.blind_times.read()
    leading = asyncio.create_task(clusters.blind_times.lead(lambda: {"fleet/west": LOST}))
    await eventually(lambda: leader_lease.noted == f'{{{noted},"fleet/west":{{"is_lost":true}}}}')
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


@pytest.mark.rule("rule 37", "rule 33/clocks", "rule 33/restart")
async def test_short_loss_of_a_connection_holds_the_checks_that_rest_on_it_and_changes_no_deadline(
    servers: tuple[ApiServer, ApiServer], connect: Connect, leader_lease: LeaderLease
) -> None:
    clusters = connect()
    management, east = servers
    serve(management, NODES.path(), node("uid-here", FAILED))
    serve(east, NODES.path(), node("uid-there", FAILED))
    async with clusters.open():
        clusters.link_machine()
        states = clusters.of_node.state, clusters.of_machine.state
        assert states == (TargetState.EXPIRED, TargetState.EXPIRED)

        with clusters.limited_to(SHORT_LIMIT):
            await east.stop()
            await eventually(lambda: reason_of(clusters.of_machine) is UNREACHABLE)
            await eventually(lambda: clusters.of_node.state is TargetState.EXPIRED)
            await eventually(lambda: '{"east":{"is_lost":true,"since":' in leader_lease.noted)
            await east.start()
            await eventually(lambda: '{"east":{"gaps":[{"since":' in leader_lease.noted)
        await eventually(lambda: clusters.of_machine.state is TargetState.EXPIRED)


@pytest.mark.rule("rule 58")
@pytest.mark.parametrize("heartbeat", ["2026-03-01T11:00:00Z", None])
async def test_condition_that_a_short_loss_did_not_change_was_there_meanwhile(
    servers: tuple[ApiServer, ApiServer], connect: Connect, heartbeat: str | None
) -> None:
    clusters = connect()
    management, east = servers
    stated = FAILED | {"lastHeartbeatTime": heartbeat}
    serve(management, NODES.path(), node("uid-here", stated))
    serve(east, NODES.path(), node("uid-there", stated))
    async with clusters.open():
        blind_times = clusters.sources.context.blind_times
        with clusters.limited_to(SHORT_LIMIT):
            await east.stop()
            await eventually(lambda: blind_times().get(EAST, BlindTime()).is_lost)
            await east.start()
            await eventually(lambda: bool(blind_times().get(EAST, BlindTime()).gaps))
        found, [gap] = clusters.node(EAST), blind_times()[EAST].gaps
        assert isinstance(found, Node)
        sighting = found.sighting("Ready")
        assert (sighting.unmoved_at if sighting else None) == (gap.until if heartbeat else None)


@pytest.mark.rule("rule 33", "rule 33/clocks", "rule 1")
async def test_long_loss_of_a_connection_restarts_the_clocks_of_its_cluster_alone_and_once(
    servers: tuple[ApiServer, ApiServer], connect: Connect, leader_lease: LeaderLease
) -> None:
    management, east = servers
    serve(management, NODES.path(), node("uid-here", FAILED))
    serve(east, NODES.path(), node("uid-there", FAILED))
    leader_lease.annotations[BLIND_TIMES.annotation] = '{"east":{"is_lost":true}}'
    longest = float(CONDITION_SECONDS)
    for _process in range(2):
        clusters = connect()
        async with clusters.open():
            clusters.link_machine()
            await eventually(lambda: clusters.of_machine.state is not TargetState.UNKNOWN)  # noqa: B023
            assert clusters.of_machine.state is TargetState.WAITING
            assert clusters.of_machine.remaining_seconds <= longest
            assert clusters.of_node.state is TargetState.EXPIRED
            await eventually(lambda: '"gaps"' in leader_lease.noted)
            longest = clusters.of_machine.remaining_seconds


@pytest.mark.rule("rule 37")
async def test_short_absence_of_our_own_cluster_changes_no_deadline(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters
) -> None:
    management, east = servers
    serve(management, NODES.path(), node("uid-here", FAILED))
    serve(east, NODES.path(), node("uid-there", FAILED))
    async with clusters.open():
        await eventually(lambda: clusters.of_node.state is TargetState.EXPIRED)
        with clusters.limited_to(SHORT_LIMIT):
            await management.stop()
            await eventually(lambda: reason_of(clusters.of_node) is HoldReason.STALE_CACHE)
            await management.start()
            await eventually(lambda: reason_of(clusters.of_node) is not HoldReason.STALE_CACHE)
        await eventually(lambda: clusters.of_node.state is TargetState.EXPIRED)


@pytest.mark.rule("rule 37", "rule 33/restart")
@pytest.mark.parametrize(
    ("text", "state"),
    [
        pytest.param(None, TargetState.EXPIRED, id="nothing was noted"),
        pytest.param("{}", TargetState.EXPIRED, id="no loss"),
        pytest.param('{"west": {"is_lost": true}}', TargetState.EXPIRED, id="the loss of another"),
        pytest.param('{"east": {"is_lost": true}}', TargetState.WAITING, id="a loss without its end"),
        pytest.param('{"east": 1}', TargetState.WAITING, id="what cannot be read"),
    ],
)
async def test_clocks_restart_when_a_noted_loss_has_ended_while_no_detector_ran(
    servers: tuple[ApiServer, ApiServer],
    connect: Connect,
    leader_lease: LeaderLease,
    text: str | None,
    state: TargetState,
) -> None:
    management, east = servers
    serve(management, NODES.path(), node("uid-here", FAILED))
    serve(east, NODES.path(), node("uid-there", FAILED))
    if text is not None:
        leader_lease.annotations[BLIND_TIMES.annotation] = text
    clusters = connect()
    async with clusters.open():
        clusters.link_machine()
        # No target is judged before the loss is noted.
        await eventually(lambda: clusters.of_machine.state is not TargetState.UNKNOWN)
        assert clusters.of_machine.state is state
        assert clusters.of_node.state is TargetState.EXPIRED


@pytest.mark.rule("rule 33/unreachable", "rule 33/first")
async def test_check_is_held_while_its_cluster_cannot_be_reached_and_goes_on_when_it_can(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload_clusters, "READ_SECRET_AGAIN", timedelta(seconds=0.1))
    management, east = servers
    serve(management, NODES.path(), node("uid-here", FAILED))
    serve(east, NODES.path(), node("uid-there", FAILED))
    connection = clusters.reached.pop(EAST)
    async with clusters.open(is_whole=False):
        await eventually(lambda: "no the key value of the Secret" in clusters.why_of_machine)
        assert reason_of(clusters.of_machine) is UNREACHABLE
        assert clusters.of_node.state is TargetState.EXPIRED
        assert not clusters.sources.of_checks.is_read(OF_MACHINES)

        clusters.reached[EAST] = connection
        await eventually(lambda: clusters.sources.of_checks.is_read(OF_MACHINES))
        clusters.link_machine()
        assert clusters.of_machine.state is TargetState.EXPIRED


@pytest.mark.rule("rule 33/skew", "rule 3")
async def test_cluster_that_has_another_time_holds_the_checks_that_rest_on_it_alone(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters
) -> None:
    management, east = servers
    serve(management, NODES.path(), node("uid-here", FAILED))
    serve(east, NODES.path(), node("uid-there", FAILED))
    clusters.skew_of_management = timedelta(minutes=6)
    async with clusters.open():
        clusters.link_machine()
        assert reason_of(clusters.of_machine) is HoldReason.CLOCK_SKEW
        assert "the clock of the workload cluster east is 6m" in clusters.why_of_machine
        assert clusters.cluster_state.cluster_context.unreachable_hold(EAST) == clusters.of_machine.hold
        assert clusters.of_node.state is TargetState.EXPIRED

        clusters.skew_of_management = timedelta(0)
        assert clusters.of_machine.state is TargetState.EXPIRED


@pytest.mark.rule("rule 33/rotated")
async def test_node_that_went_while_the_credentials_changed_is_gone_through_the_new_connection(
    servers: tuple[ApiServer, ApiServer],
    clusters: TwoClusters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workload_clusters, "READ_SECRET_EVERY", timedelta(seconds=0.1))
    management, east = servers
    serve(management, NODES.path(), node("uid-here", HEALTHY))
    serve(east, NODES.path(), node("uid-there", HEALTHY))
    async with ApiServer(tmp_path) as moved, clusters.open():
        serve(moved, NODES.path())
        assert clusters.node(EAST) is not None
        async with await Transport.connect(str(moved.kubeconfig)) as renewed:
            clusters.reached[EAST] = ClusterConnection.over(renewed, cluster=EAST)
            await eventually(lambda: clusters.node(EAST) is None)
            assert clusters.sources.of_checks.is_read(OF_MACHINES)


@pytest.mark.rule("rule 50", "rule 33/clocks")
async def test_another_cluster_under_the_same_name_holds_its_checks_until_a_person_confirms_it(
    servers: tuple[ApiServer, ApiServer],
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clusters = connect()
    monkeypatch.setattr(workload_clusters, "READ_SECRET_EVERY", timedelta(seconds=0.1))
    management, east = servers
    serve(management, NODES.path(), node("uid-here", FAILED))
    serve(east, NODES.path(), node("uid-there", FAILED))
    async with clusters.open():
        clusters.link_machine()
        assert clusters.of_machine.state is TargetState.EXPIRED
        known = clusters.sources.context.known_clusters()
        assert known == {EAST: KnownCluster(uid="uid-of-east")}

        east.is_cluster("another")
        await eventually(lambda: reason_of(clusters.of_machine) is CHANGED)
        assert "is another, it was uid-of-east" in clusters.why_of_machine
        assert clusters.of_node.state is TargetState.EXPIRED
        assert clusters.sources.context.known_clusters() == known
        assert clusters.sources.context.blind_times() == {EAST: LOST}

    # Neither a restart nor a confirmation of another loss ends it.
    after = connect(known)
    async with after.open():
        after.link_machine()
        assert reason_of(after.of_machine) is CHANGED
        after.annotate_check({"paramedic.dev/confirmed-cluster": "a-third"})
        after.sources.context.refresh()
        assert reason_of(after.of_machine) is CHANGED

        after.annotate_check({"paramedic.dev/confirmed-cluster": "another"})
        await eventually(lambda: after.of_machine.state is TargetState.WAITING)
        assert after.sources.context.known_clusters() == {EAST: KnownCluster(uid="another")}


@pytest.mark.rule("rule 50", "rule 33/clocks")
async def test_cluster_that_is_the_first_one_again_goes_on_with_new_clocks(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload_clusters, "READ_SECRET_EVERY", timedelta(seconds=0.1))
    management, east = servers
    serve(management, NODES.path(), node("uid-here", FAILED))
    serve(east, NODES.path(), node("uid-there", FAILED))
    async with clusters.open():
        clusters.link_machine()
        east.is_cluster("another")
        await eventually(lambda: reason_of(clusters.of_machine) is CHANGED)
        east.is_cluster("uid-of-east")
        await eventually(lambda: clusters.of_machine.state is TargetState.WAITING)


@pytest.mark.rule("rule 33/gone")
async def test_cluster_that_no_check_rests_on_any_more_is_watched_no_more(
    servers: tuple[ApiServer, ApiServer], clusters: TwoClusters
) -> None:
    management, east = servers
    serve(management, NODES.path(), node("uid-here", HEALTHY))
    serve(east, NODES.path(), node("uid-there", HEALTHY))
    async with clusters.open():
        known = clusters.cluster_state.checks[OF_MACHINES]
        clusters.cluster_state.check_changed(known.kind, OF_MACHINES, None)
        await eventually(lambda: clusters.node(EAST) is None)
        assert clusters.sources.context.blind_times() == {}
        assert clusters.of_node.state is TargetState.HEALTHY


def reason_of(observation: Observation) -> HoldReason | str | None:
    return None if observation.hold is None else observation.hold.reason
