"""How long ago the API server was heard of decides whether an incident may act."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from detector.answers.glance import Glance
from detector.picture.picture import Picture
from detector.watching.sources import Scope, Sources
from devcluster.control_plane import ControlPlane
from health.observation import HoldReason, Observation
from health.references import IncidentReference
from kube.backoff import Waits
from kube.client import Client
from kube.reflector_settings import ReflectorSettings
from kube.transport import Transport
from runtime.problems import Problems
from runtime.settings import Settings
from tests.end_to_end.request_log import RequestLog
from tests.end_to_end.world import World
from tests.kube.eventually import eventually
from tests.kube.faults.tcp_proxy import TcpProxy

pytestmark = pytest.mark.cluster

SETTINGS = Settings(cluster="test", sight_limit_seconds=6)
# As in production, but for the waits after a failure.
QUICK = ReflectorSettings(waits=Waits(longest=timedelta(seconds=0.5))).proving_life_within(
    SETTINGS.sight_limit
)
SILENCE = QUICK.watching.silence


class Eyes:
    """A detector's sources and picture, and what it would answer one incident."""

    def __init__(self, transport: Transport, incident: IncidentReference) -> None:
        self._picture = Picture("test")
        scope = Scope(SETTINGS.lease_namespace, reflectors=QUICK)
        self._sources = Sources(transport, self._picture, scope, Problems())
        self._incident = incident

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self._sources.run())
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    def age(self) -> timedelta | None:
        return self._sources.age()

    def observe(self) -> Observation:
        limit = SETTINGS.sight_limit
        sight = self._sources.sight(self._incident.check, limit)
        return Glance(self._picture, self._incident, sight, datetime.now(UTC)).observation()

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
async def eyes(
    control_plane: ControlPlane,
    world: World,
    proxy: TcpProxy,
    tmp_path: Path,
) -> AsyncIterator[Eyes]:
    """Eyes that look through the proxy."""
    kubeconfig = proxy.kubeconfig(control_plane.kubeconfig, tmp_path)
    async with await Transport.connect(str(kubeconfig)) as transport:
        made = Eyes(transport, await world.incident(world.nodes[0]))
        async with made.open():
            await eventually(lambda: made.observe().is_admitted, 20)
            yield made


@pytest.mark.rule("decision 3")
async def test_blackholed_connection_becomes_a_hold_after_the_limit_and_lifts_by_itself(
    eyes: Eyes, proxy: TcpProxy
) -> None:
    proxy.hold()
    await eventually(lambda: (eyes.age() or timedelta()) > SILENCE * 1.1, 10)
    assert not eyes.is_stale()
    await eventually(eyes.is_stale, 20)
    observation, age = eyes.observe(), eyes.age()
    assert age is not None
    assert age > SETTINGS.sight_limit
    assert not observation.is_admitted
    assert observation.hold is not None
    assert "the last sign of life of the API server is" in observation.hold.message

    proxy.let_go()
    await eventually(lambda: eyes.observe().is_admitted, 20)


async def test_hold_lifts_with_what_happened_meanwhile(eyes: Eyes, proxy: TcpProxy, world: World) -> None:
    proxy.hold()
    await world.recover(*world.nodes)
    await eventually(eyes.is_stale, 20)

    proxy.let_go()
    await eventually(lambda: not eyes.is_stale(), 20)
    assert eyes.observe().fact is None


async def test_quiet_cluster_is_not_a_stale_one(eyes: Eyes, proxy: TcpProxy) -> None:
    opened = proxy.accepted
    oldest = timedelta()

    def watches_were_opened_anew() -> bool:
        nonlocal oldest
        oldest = max(oldest, eyes.age() or SETTINGS.sight_limit)
        return proxy.accepted > opened + 8

    await eventually(watches_were_opened_anew, 30)
    assert oldest < SETTINGS.sight_limit
