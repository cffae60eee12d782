"""No fault of the way to a real API server loses an add, a modify or a delete."""

import dataclasses
import ssl
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.reflector import ReflectorSettings
from kube.transport import Transport
from tests.kube.faults.convergence import converge
from tests.kube.faults.following import following
from tests.kube.faults.real_cluster import RealCluster
from tests.kube.watched import IMPATIENT, with_silence
from tests.support.api.eventually import eventually
from tests.support.api.tcp_proxy import TcpProxy

pytestmark = pytest.mark.cluster

Fault = Callable[[TcpProxy], AbstractAsyncContextManager[None]]
QUICKLY_SILENT = dataclasses.replace(with_silence(timedelta(seconds=1)), paging=IMPATIENT.paging)


@pytest.fixture
async def cluster(control_plane: ControlPlane) -> AsyncIterator[RealCluster]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as direct:
        made = RealCluster(Client(direct), f"f-{uuid.uuid4().hex[:8]}")
        yield made
        await made.remove()


@asynccontextmanager
async def connection_reset(proxy: TcpProxy) -> AsyncIterator[None]:
    proxy.hold()
    proxy.reset()
    accepted = proxy.accepted
    await eventually(lambda: proxy.accepted > accepted)
    yield
    proxy.reset()
    proxy.let_go()


@asynccontextmanager
async def silence_that_ends(proxy: TcpProxy) -> AsyncIterator[None]:
    proxy.hold()
    accepted = proxy.accepted
    yield
    await eventually(lambda: proxy.accepted > accepted)  # the watch was given up and asked for again
    proxy.let_go()


@asynccontextmanager
async def silence_of_what_was_open(proxy: TcpProxy) -> AsyncIterator[None]:
    """Open connections stay silent until they end; later connections work."""
    proxy.forsake()
    accepted = proxy.accepted
    yield
    await eventually(lambda: proxy.accepted > accepted)


@asynccontextmanager
async def answer_cut(proxy: TcpProxy) -> AsyncIterator[None]:
    accepted = proxy.accepted
    proxy.cut_next()
    yield
    await eventually(lambda: proxy.accepted > accepted)


THROUGH_TLS = [
    pytest.param(connection_reset, IMPATIENT, id="RST"),
    pytest.param(silence_that_ends, QUICKLY_SILENT, id="silence that ends"),
    pytest.param(silence_of_what_was_open, QUICKLY_SILENT, id="silence of what was open"),
    pytest.param(answer_cut, IMPATIENT, id="record of TLS cut in the middle"),
]


@pytest.mark.parametrize(("fault", "settings"), THROUGH_TLS)
async def test_nothing_is_lost(
    control_plane: ControlPlane,
    cluster: RealCluster,
    fault: Fault,
    settings: ReflectorSettings,
    tmp_path: Path,
) -> None:
    async with (
        TcpProxy(control_plane.server) as proxy,
        await Transport.connect(str(proxy.kubeconfig(control_plane.kubeconfig, tmp_path))) as transport,
        following(transport, settings, cluster.selector) as (reflector, told),
    ):
        await converge(cluster, reflector, told, fault(proxy))


async def test_line_that_is_cut_in_the_middle_loses_nothing(
    control_plane: ControlPlane, cluster: RealCluster, tmp_path: Path
) -> None:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE  # the proxy has no trusted certificate
    async with (
        TcpProxy(control_plane.server, trust) as proxy,
        await Transport.connect(str(proxy.kubeconfig(control_plane.kubeconfig, tmp_path))) as transport,
        following(transport, IMPATIENT, cluster.selector) as (reflector, told),
    ):
        await converge(cluster, reflector, told, answer_cut(proxy))
