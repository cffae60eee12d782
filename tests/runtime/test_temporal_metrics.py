"""The SDK's own metrics, where somebody asked for them."""

import socket

import aiohttp
import pytest

from runtime.serving import CannotListen
from runtime.settings import Settings, SettingsError
from runtime.temporal_metrics import serve_temporal_metrics
from tests.ports import free_port


async def test_temporal_has_an_address_of_its_own_where_one_is_set() -> None:
    address = f"127.0.0.1:{free_port()}"
    runtime = serve_temporal_metrics(address)  # it serves for as long as somebody holds it
    assert runtime is not None
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/metrics") as answer:
        assert answer.status == 200


def test_temporal_serves_nothing_by_default() -> None:
    assert serve_temporal_metrics(Settings(cluster="c").temporal_metrics_address) is None


def test_address_that_is_taken_is_said_with_its_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(CannotListen, match=r"^PARAMEDIC_TEMPORAL_METRICS_ADDRESS: cannot listen on "):
            serve_temporal_metrics(address)


def test_address_that_is_none_is_refused_by_its_setting() -> None:
    given = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_TEMPORAL_METRICS_ADDRESS": "foo"}
    with pytest.raises(SettingsError, match=r"^PARAMEDIC_TEMPORAL_METRICS_ADDRESS: must be host:port"):
        Settings.from_environment(given)
