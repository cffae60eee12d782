"""How long ago the API server was heard of decides whether an incident may act."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from detector.answers.observation_builder import ObservationBuilder
from detector.state.cluster_state import ClusterState
from detector.watching.sources import Scope, Sources
from devcluster import assets, manifests
from devcluster.control_plane import ControlPlane, start
from devcluster.layout import lay_out
from devcluster.supervisor import Supervisor
from health.model.observation import HoldReason, Observation
from health.model.references import IncidentReference
from kube.backoff import Waits
from kube.client import Client
from kube.connection import ClusterConnection
from kube.reflector_settings import SHORTEST_LIMIT, ReflectorSettings
from kube.resource import NODES
from kube.transport import Transport
from kube.watching import Watching, watch
from runtime.problems import Problems
from runtime.settings import Settings
from tests.end_to_end.request_log import RequestLog
from tests.end_to_end.world import World
from tests.kube.eventually import eventually
from tests.kube.faults.tcp_proxy import TcpProxy

pytestmark = pytest.mark.cluster

SETTINGS = Settings(cluster="test", sight_limit_seconds=SHORTEST_LIMIT.total_seconds())
LIMIT = SETTINGS.policy.sight_limit
# As in production, but for the waits after a failure.
QUICK = ReflectorSettings(waits=Waits(longest=timedelta(seconds=0.5))).proving_life_within(LIMIT)


class Observer:
    """A detector's sources and cluster state, and what it would answer one incident."""

    def __init__(self, transport: Transport, incident: IncidentReference) -> None:
        self._cluster_state = ClusterState("test")
        scope = Scope(SETTINGS.lease_namespace, reflectors=lambda: QUICK)
        self._sources = Sources(
            ClusterConnection.over(transport), self._cluster_state, scope, Problems(), lambda: SETTINGS.policy
        )
        self._incident = incident

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self._sources.run())
        try:
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    def age(self) -> timedelta | None:
        return self._sources.age()

    def observe(self) -> Observation:
        freshness = self._sources.freshness(self._incident.check)
        return ObservationBuilder(
            self._cluster_state, self._incident, freshness, datetime.now(UTC)
        ).observation()

    def is_stale(self) -> bool:
        hold = self.observe().hold
        return hold is not None and hold.reason is HoldReason.STALE_SIGHT


@pytest.fixture
async def world(control_plane: ControlPlane) -> AsyncIterator[World]:
    nobody = await TemporalClient.connect("127.0.0.1:1", lazy=True)  # no incident is started here
    async with await Transport.connect(str(control_plane.kubeconfig)) as direct:
        made = World(Client(direct), nobody, "test", RequestLog())
        await made.add_nodes(1)
        await made.add_check(duration="0s")
        await made.fail(*made.nodes)
        yield made
        await made.remove()


@pytest.fixture
async def proxy(control_plane: ControlPlane) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(control_plane.server) as running:
        yield running


@pytest.fixture
async def observer(
    control_plane: ControlPlane,
    world: World,
    proxy: TcpProxy,
    tmp_path: Path,
) -> AsyncIterator[Observer]:
    """Observer that look through the proxy."""
    kubeconfig = proxy.kubeconfig(control_plane.kubeconfig, tmp_path)
    async with await Transport.connect(str(kubeconfig)) as transport:
        made = Observer(transport, await world.incident(world.nodes[0]))
        async with made.open():
            await eventually(lambda: made.observe().is_admitted, 20)
            yield made


@pytest.mark.rule("rule 3")
async def test_blackholed_connection_becomes_a_hold_after_the_limit_and_lifts_by_itself(
    observer: Observer, proxy: TcpProxy
) -> None:
    proxy.hold()
    assert not observer.is_stale()
    await eventually(observer.is_stale, 20)
    observation, age = observer.observe(), observer.age()
    assert age is not None
    assert age > LIMIT
    assert not observation.is_admitted
    assert observation.hold is not None
    assert "the last sign of life of the API server is" in observation.hold.message

    proxy.let_go()
    await eventually(lambda: observer.observe().is_admitted, 20)


async def test_hold_lifts_with_what_happened_meanwhile(
    observer: Observer, proxy: TcpProxy, world: World
) -> None:
    proxy.hold()
    await world.recover(*world.nodes)
    await eventually(observer.is_stale, 20)

    proxy.let_go()
    await eventually(lambda: not observer.is_stale(), 20)
    assert observer.observe().fact is None


async def test_quiet_cluster_is_not_a_stale_one(observer: Observer) -> None:
    oldest, ends = timedelta(), time.monotonic() + 1.2 * LIMIT.total_seconds()

    def time_is_over() -> bool:
        nonlocal oldest
        oldest = max(oldest, observer.age() or LIMIT)
        return time.monotonic() > ends

    await eventually(time_is_over, 60)
    assert oldest < LIMIT


@pytest.mark.rule("rule 3", "rule 4")
async def test_api_server_that_is_cut_off_from_etcd_is_held_and_lifts_by_itself(tmp_path: Path) -> None:
    """It goes on accepting watches, and sends bookmarks."""
    async with Supervisor() as supervisor, _own_cluster(supervisor, tmp_path) as (transport, observer):
        os.kill(supervisor.pids["etcd"], signal.SIGSTOP)
        try:
            await eventually(observer.is_stale, 20)
            assert await _bookmarked_version(transport) == await _cached_version(transport)
            assert not observer.observe().is_admitted
        finally:
            os.kill(supervisor.pids["etcd"], signal.SIGCONT)
        await eventually(lambda: observer.observe().is_admitted, 20)


@asynccontextmanager
async def _own_cluster(supervisor: Supervisor, directory: Path) -> AsyncIterator[tuple[Transport, Observer]]:
    """A control plane of this test alone, with an expired node, and observer on it."""
    control_plane = await start(supervisor, lay_out(directory), assets.find())
    await manifests.install(control_plane.kubeconfig)
    nobody = await TemporalClient.connect("127.0.0.1:1", lazy=True)
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        world = World(Client(transport), nobody, "test", RequestLog())
        await world.add_nodes(1)
        await world.fail(*world.nodes)
        await world.add_check(duration="0s")  # last: bookmarks tell of nodes that nothing happened since
        observer = Observer(transport, await world.incident(world.nodes[0]))
        async with observer.open():
            await eventually(lambda: observer.observe().is_admitted, 20)
            yield transport, observer


async def _cached_version(transport: Transport) -> str:
    """What the API server tells without asking etcd."""
    answer = await transport.request("GET", NODES.path(), query=[("resourceVersion", "0"), ("limit", "1")])
    version: str = json.loads(answer)["metadata"]["resourceVersion"]
    return version


async def _bookmarked_version(transport: Transport) -> str:
    """What the bookmark of a watch tells that is opened now."""
    lasting = Watching().lasting(timedelta(0))
    async with watch(transport, NODES.path(), "", "1", lasting, 2 * lasting) as lines:
        told = [json.loads(line) async for line in lines]
    assert told[-1]["type"] == "BOOKMARK"
    version: str = told[-1]["object"]["metadata"]["resourceVersion"]
    return version
