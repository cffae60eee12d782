"""The core of the SDK: its metrics, if the settings ask for them, and its logs."""

import socket
from http import HTTPStatus

import aiohttp
import pytest
from temporalio.service import RPCError

from devcluster.temporal import TemporalServer
from runtime.serving import CannotListen
from runtime.settings import Settings, SettingsError
from runtime.temporal import connect
from runtime.temporal_core import temporal_core
from tests.support.api.ports import free_port
from tests.support.api.tcp_proxy import TcpProxy


async def test_temporal_has_an_address_of_its_own_where_one_is_set() -> None:
    address = f"127.0.0.1:{free_port()}"
    runtime = temporal_core(address)
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/metrics") as answer:
        assert answer.status == 200
    del runtime  # it served for as long as somebody held it


@pytest.mark.parametrize("has_ipv6", [True, False])
async def test_address_without_a_host_is_every_address_with_and_without_ipv6_in_the_kernel(
    monkeypatch: pytest.MonkeyPatch, *, has_ipv6: bool
) -> None:
    has_ipv6 = has_ipv6 and socket.has_dualstack_ipv6()
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: has_ipv6)
    port = free_port()
    runtime = temporal_core(f":{port}")
    async with aiohttp.ClientSession() as session:
        for host in ["127.0.0.1", *(["[::1]"] if has_ipv6 else [])]:
            async with session.get(f"http://{host}:{port}/metrics") as answer:
                assert answer.status == HTTPStatus.OK
    del runtime  # it served for as long as somebody held it


async def test_calls_that_are_tried_again_are_no_lines_of_a_log(
    temporal_server: TemporalServer, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with TcpProxy(f"//{temporal_server.address}") as proxy:
        address = {"TEMPORAL_ADDRESS": proxy.address, "TEMPORAL_NAMESPACE": temporal_server.namespace}
        client = await connect(environment=address, runtime=temporal_core(""))
    with pytest.raises(RPCError):
        await client.count_workflows("")  # tried again for ten seconds
    assert "".join(capfd.readouterr()) == ""
    assert caplog.text == ""


def test_address_that_is_taken_is_said_with_its_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(CannotListen, match=r"^PARAMEDIC_TEMPORAL_METRICS_ADDRESS: cannot listen on "):
            temporal_core(address)


@pytest.mark.parametrize(
    ("address", "why"),
    [("foo", "must be host:port"), ("localhost:9090", "must be IP:port: no name is looked up for it")],
)
def test_address_that_is_none_is_refused_by_its_setting(address: str, why: str) -> None:
    given = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_TEMPORAL_METRICS_ADDRESS": address}
    with pytest.raises(SettingsError, match=rf"^PARAMEDIC_TEMPORAL_METRICS_ADDRESS: {why}"):
        Settings.from_environment(given)


@pytest.mark.parametrize("address", [":9090", "127.0.0.1:9090", "[::1]:9090"])
def test_address_of_this_machine_is_taken(address: str) -> None:
    given = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_TEMPORAL_METRICS_ADDRESS": address}
    assert Settings.from_environment(given).temporal_metrics_address == address
