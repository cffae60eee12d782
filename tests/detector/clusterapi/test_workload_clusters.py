"""Each workload cluster has its own watch: a failure of one ends no other, and a repaired one returns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from detector.feeds import workload_clusters
from detector.feeds.node_watch import LOST, BlindTime, NodeWatch
from detector.feeds.workload_clusters import WorkloadAccess, WorkloadClusters
from health.gate.check_holds import NOT_YET
from health.kinds.clusterapi.cluster import kubeconfig_secret
from kube.connection import ClusterConnection
from kube.errors import NotConfigured, Unreachable
from kube.reflector_settings import patient
from kube.resource import NODES
from kube.transport import Transport
from objects.clusters import SecretField
from runtime.guard import Guard
from tests.support.api.api_server import ApiServer, lines, said
from tests.support.api.eventually import eventually
from tests.support.state.node_callbacks import NodeCallbacks
from tests.support.values.builders import NOW, condition, node_object

EAST, WEST = "fleet/east", "fleet/west"
LIMIT = timedelta(minutes=1)


class Watched:
    """Two clusters with one Node each; a test sets the error that connecting to one of them raises."""

    def __init__(self, connections: dict[str, ClusterConnection]) -> None:
        self._connections = connections
        self.errors: dict[str, Exception] = {}
        self.tried = 0
        self.closed: list[str] = []
        self.read: list[str] = []
        self.updated: list[str] = []
        self.may_update = asyncio.Event()
        self.may_update.set()
        self.nodes: set[str] = set()
        self.guard = Guard()
        self._tasks = asyncio.TaskGroup()
        self.skew_of_management = timedelta(0)
        self.noted = BlindTime()
        self.clusters = WorkloadClusters(
            WorkloadAccess(self._connect, self._close, lambda _: self.noted, lambda: self.skew_of_management),
            self._watch,
            NodeCallbacks(
                read=self.read.append,
                forgotten=self.read.remove,
                update_targets=self._update_targets,
            ),
            self.guard,
        )

    async def _connect(self, cluster: str, secret: SecretField) -> ClusterConnection:
        assert secret == kubeconfig_secret(cluster)
        self.tried += 1
        if cluster in self.errors:
            raise self.errors[cluster]
        return self._connections[cluster]

    async def _close(self, cluster: str) -> None:
        self.closed.append(cluster)

    async def _update_targets(self, cluster: str) -> None:
        await self.may_update.wait()
        self.updated.append(cluster)

    def _watch(self, cluster: str) -> NodeWatch:
        def notify(_: object, node: object) -> None:
            (self.nodes.discard if node is None else self.nodes.add)(cluster)

        return NodeWatch(cluster, NodeCallbacks(notify, lambda *_: None), patient, lambda: NOW)

    def name(self, *names: str) -> None:
        """Name the clusters that the checks refer to at this moment."""
        self.clusters.name({name: kubeconfig_secret(name) for name in names}, self._tasks)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._tasks:
            yield
            self.name()


@pytest.fixture
async def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    for name in ("READ_SECRET_EVERY", "READ_SECRET_AGAIN"):
        monkeypatch.setattr(workload_clusters, name, timedelta(seconds=0.05))
    monkeypatch.setattr(workload_clusters, "LOOK_SECONDS", 0.05)
    connections = {}
    async with AsyncExitStack() as opened:
        for cluster in (EAST, WEST):
            directory = tmp_path / cluster
            directory.mkdir(parents=True)
            server = await opened.enter_async_context(ApiServer(directory))
            found = node_object(condition("Ready", "True"))
            found["metadata"]["resourceVersion"] = "9"
            answer = said({"metadata": {"resourceVersion": "10"}, "items": [found]})
            server.answer("GET", NODES.path(), answer)
            server.version(NODES.path(), answer)
            server.watch(NODES.path(), lines(then="silent"))
            transport = await opened.enter_async_context(await Transport.connect(str(server.kubeconfig)))
            connections[cluster] = ClusterConnection.over(transport, cluster=cluster)
        yield Watched(connections)


async def test_exception_of_one_cluster_ends_no_other_and_not_even_its_own_for_long(
    watched: Watched,
) -> None:
    async with watched.running():
        watched.errors[EAST] = ZeroDivisionError("nobody foresaw it")
        watched.name(EAST, WEST)
        await eventually(lambda: watched.clusters.is_read(WEST))
        assert "not read completely" in str(watched.clusters.unread(EAST, LIMIT))
        assert watched.clusters.unread(WEST, LIMIT) is None

        del watched.errors[EAST]
        await eventually(lambda: watched.clusters.is_read(EAST))
        assert sorted(watched.read) == [EAST, WEST]


@pytest.mark.rule("rule 33/unreachable")
async def test_cluster_is_not_judged_before_each_of_its_targets_is_updated(watched: Watched) -> None:
    watched.may_update.clear()
    async with watched.running():
        watched.name(EAST)
        await eventually(lambda: EAST in watched.read)
        assert watched.clusters.is_read(EAST), "a Node that vanishes now counts as lost"
        assert not watched.clusters.is_updated(EAST)
        assert watched.clusters.unreachable(LIMIT)

        watched.may_update.set()
        await eventually(lambda: not watched.clusters.unreachable(LIMIT))
        assert watched.updated == [EAST]


@pytest.mark.rule("rule 33/refused", "rule 33/unreachable", "rule 33/rotated")
async def test_secret_that_turns_unusable_holds_and_comes_back(watched: Watched) -> None:
    async with watched.running():
        watched.name(EAST, WEST)
        await eventually(lambda: {EAST, WEST} == set(watched.read))
        watched.errors[EAST] = NotConfigured("The Secret fleet/east-kubeconfig names a program to run.")
        await eventually(lambda: watched.clusters.unreachable(LIMIT))
        assert watched.clusters.unreachable(LIMIT) == {EAST: watched.errors[EAST].args[0]}
        assert EAST in watched.nodes

        del watched.errors[EAST]
        await eventually(lambda: not watched.clusters.unreachable(LIMIT))


@pytest.mark.rule("rule 33/unreachable")
async def test_cause_that_changes_its_text_is_reported_once_a_minute_and_anew_after_the_cluster_was_well(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(workload_clusters, "monotonic_clock", lambda: now)

    async def told_after(error: str) -> str:
        watched.errors[EAST] = NotConfigured(error)
        tried = watched.tried
        await eventually(lambda: watched.tried > tried + 1)
        watched.clusters.look(LIMIT)
        return watched.clusters.unreachable(LIMIT)[EAST]

    async with watched.running():
        watched.name(EAST, WEST)
        watched.clusters.look(LIMIT)
        assert set(watched.clusters.unreachable(LIMIT).values()) == {NOT_YET}
        assert await told_after("r1") == "r1"  # the words "not yet" name no cause, and are not kept
        now += 59
        assert await told_after("r2") == "r1"
        now += 1
        assert await told_after("r3") == "r3"

        del watched.errors[EAST]
        await eventually(lambda: watched.clusters.is_read(EAST))
        watched.clusters.look(LIMIT)
        assert watched.clusters.unreachable(LIMIT).get(EAST, "") == ""
        assert await told_after("r4") == "r4"


@pytest.mark.rule("rule 33")
async def test_secret_that_cannot_be_read_for_a_moment_takes_nothing_from_what_is_seen(
    watched: Watched,
) -> None:
    async with watched.running():
        watched.name(EAST)
        await eventually(lambda: watched.clusters.is_read(EAST))
        watched.errors[EAST] = Unreachable("The management cluster does not answer.")
        tried = watched.tried
        await eventually(lambda: watched.tried > tried + 1)
        assert watched.clusters.unread(EAST, LIMIT) is None


@pytest.mark.rule("rule 33/gone")
async def test_cluster_that_no_check_names_is_forgotten_before_its_nodes_go_and_closed(
    watched: Watched,
) -> None:
    async with watched.running():
        watched.name(EAST, WEST)
        await eventually(lambda: watched.nodes == {EAST, WEST} and len(watched.read) == 2)
        watched.may_update.clear()
        watched.name(WEST)
        assert watched.read == [WEST]
        for _ in range(10):
            await asyncio.sleep(0)
        assert watched.nodes == {EAST, WEST}, "its Machines are not updated yet"
        watched.may_update.set()
        await eventually(lambda: watched.nodes == {WEST})
        await eventually(lambda: watched.closed == [EAST])

        watched.name(EAST, WEST)
        await eventually(lambda: watched.clusters.is_read(EAST))
        assert sorted(watched.read) == [EAST, WEST]
        assert watched.closed == [EAST]


@pytest.mark.rule("rule 33/gone")
async def test_cluster_that_is_named_again_at_once_keeps_its_connection(watched: Watched) -> None:
    async with watched.running():
        watched.name(EAST)
        await eventually(lambda: watched.clusters.is_read(EAST))
        watched.name()
        watched.name(EAST)
        await eventually(lambda: watched.clusters.is_read(EAST))
        assert watched.closed == []


@pytest.mark.rule("rule 33/skew")
async def test_clock_of_each_cluster_is_compared_with_that_of_the_management_cluster(
    watched: Watched,
) -> None:
    watched.skew_of_management = timedelta(minutes=6)  # so both clusters are ahead of it by as much
    async with watched.running():
        watched.name(EAST)
        await eventually(lambda: watched.clusters.is_read(EAST))
        [(cluster, skew)] = watched.clusters.clock_skews().items()
        assert cluster == EAST
        assert abs(skew - timedelta(minutes=6)) < timedelta(minutes=1)
        assert watched.clusters.clock_skew(WEST) is None

        watched.skew_of_management = timedelta(seconds=20)
        assert watched.clusters.clock_skews() == {}


@pytest.mark.rule("rule 33/clocks", "rule 33/skew")
async def test_end_of_a_lost_connection_is_noted_by_the_clock_that_deadlines_are_judged_by(
    watched: Watched,
) -> None:
    watched.noted = LOST
    async with watched.running():
        watched.name(EAST)
        await eventually(lambda: watched.clusters.is_read(EAST))
        [gap] = watched.clusters.look(LIMIT)[EAST]
        assert NOW - LIMIT < gap.until <= NOW
