"""The time since the last answer of the API server decides whether an incident may act."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.transport import Transport
from tests.support.api.eventually import eventually
from tests.support.api.tcp_proxy import TcpProxy
from tests.support.story.observer import LIMIT, Observer
from tests.support.story.request_log import RequestLog
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

SECONDS = 60


@pytest.fixture
async def world(control_plane: ControlPlane) -> AsyncIterator[World]:
    nobody = await TemporalClient.connect("127.0.0.1:1", lazy=True)  # this test starts no incident
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
    """An Observer that is connected through the proxy."""
    kubeconfig = proxy.kubeconfig(control_plane.kubeconfig, tmp_path)
    async with await Transport.connect(str(kubeconfig)) as transport:
        made = Observer(transport, await world.incident(world.nodes[0]))
        async with made.open():
            await eventually(lambda: made.observe().may_be_admitted, SECONDS)
            yield made


@pytest.mark.rule("rule 3")
async def test_blackholed_connection_becomes_a_hold_which_lifts_by_itself_with_what_happened_meanwhile(
    observer: Observer, proxy: TcpProxy, world: World
) -> None:
    proxy.hold()
    assert not observer.is_stale()
    await world.recover(*world.nodes)
    await eventually(observer.is_stale, SECONDS)
    observation, age = observer.observe(), observer.age()
    assert age is not None
    assert age > LIMIT
    assert not observation.may_be_admitted
    assert observation.hold is not None
    assert observation.hold.message.startswith("cannot read ")
    assert "(since 20" in observation.hold.message

    proxy.let_go()
    await eventually(lambda: not observer.is_stale(), SECONDS)
    assert observer.observe().fact is None
    await world.fail(*world.nodes)
    await eventually(lambda: observer.observe().may_be_admitted, SECONDS)


async def test_quiet_cluster_is_heard_of_all_the_same(observer: Observer) -> None:
    quiet_since = time.monotonic()

    def is_heard_of() -> bool:
        age = observer.age()
        return age is not None and time.monotonic() - age.total_seconds() > quiet_since

    await eventually(is_heard_of, SECONDS)
