"""A link whose other end is gone without a word is noticed by the kernel, long before the watch's silence.

The real thing needs a network that can be cut: a namespace, and the rights to make one. The test of the
socket options runs everywhere.
"""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.reflector import Reflector, ReflectorState
from kube.transport import Transport
from tests.kube.faults.config_maps import ConfigMap
from tests.kube.faults.convergence import converge
from tests.kube.faults.following import following
from tests.kube.faults.other_network import OtherNetwork, other_network
from tests.kube.faults.real_cluster import RealCluster
from tests.kube.faults.scripted_cluster import ScriptedCluster
from tests.kube.watched import with_silence
from tests.support.api.api_server import ApiServer
from tests.support.api.eventually import eventually
from tests.support.api.tcp_proxy import TcpProxy

NEVER_SILENT = with_silence(timedelta(minutes=10))
"""So that nothing but the kernel can notice."""
NOTICED_SECONDS = 30.0


@pytest.fixture
async def network() -> AsyncIterator[OtherNetwork | None]:
    async with other_network() as made:
        yield made


async def test_socket_options_make_the_kernel_detect_a_lost_peer(
    server: ApiServer, transport: Transport
) -> None:
    cluster = ScriptedCluster(server)
    async with following(transport, NEVER_SILENT) as (reflector, _):
        await eventually(lambda: reflector.state is ReflectorState.WATCHING and cluster.is_watched)
        assert_kernel_notices(server.port)


@pytest.mark.cluster
async def test_half_open_link_loses_nothing(
    control_plane: ControlPlane,
    network: OtherNetwork | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if network is None:  # this machine has no network to cut: the same proof, on the real API server
        await _prove_on(control_plane)
        return
    _hurry(monkeypatch)
    async with await Transport.connect(str(control_plane.kubeconfig)) as direct:
        cluster = RealCluster(Client(direct), network.name)
        async with (
            _through(network, control_plane, tmp_path) as transport,
            following(transport, NEVER_SILENT, cluster.selector) as (reflector, told),
        ):
            await converge(cluster, reflector, told, _cable_pulled(network, reflector))
        await cluster.remove()


def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel notice within two seconds instead of thirty."""
    monkeypatch.setattr("kube.session._USER_TIMEOUT_MILLISECONDS", 2000)
    monkeypatch.setattr("kube.session._KEEPALIVE_IDLE_SECONDS", 1)
    monkeypatch.setattr("kube.session._KEEPALIVE_INTERVAL_SECONDS", 1)


@asynccontextmanager
async def _through(
    network: OtherNetwork, control_plane: ControlPlane, directory: Path
) -> AsyncIterator[Transport]:
    proxy = TcpProxy(control_plane.server)
    await proxy.start(network.listen())
    kubeconfig = proxy.kubeconfig(control_plane.kubeconfig, directory)
    try:
        async with await Transport.connect(str(kubeconfig)) as transport:
            yield transport
    finally:
        await proxy.stop()


@asynccontextmanager
async def _cable_pulled(network: OtherNetwork, reflector: Reflector[ConfigMap]) -> AsyncIterator[None]:
    await network.pull_cable()
    yield
    await eventually(lambda: reflector.state is ReflectorState.WAITING, NOTICED_SECONDS)
    assert "silent" not in str(reflector.problem)
    await network.plug_cable()


async def _prove_on(control_plane: ControlPlane) -> None:
    async with (
        await Transport.connect(str(control_plane.kubeconfig)) as transport,
        following(transport, NEVER_SILENT) as (reflector, _),
    ):
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)
        assert_kernel_notices(urlsplit(control_plane.server).port or 0)


def assert_kernel_notices(port: int) -> None:
    """Every connection of this process to `port` has the options, with production's values."""
    connections = _connections_to(port)
    assert connections
    for connection in connections:
        with connection:
            assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux has it, where all of this runs in production
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 10
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == 10


def _connections_to(port: int) -> list[socket.socket]:
    """Duplicates of the connected sockets of this process, as the kernel knows them."""
    found = []
    for descriptor in Path("/dev/fd").iterdir():
        try:
            connection = socket.socket(fileno=os.dup(int(descriptor.name)))
        except OSError:
            continue  # no socket
        if _peer_port(connection) == port:
            found.append(connection)
        else:
            connection.close()
    return found


def _peer_port(connection: socket.socket) -> int | None:
    try:
        peer = connection.getpeername()
    except OSError:
        return None  # it listens
    return int(peer[1]) if isinstance(peer, tuple) else None
