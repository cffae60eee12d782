"""The core of the SDK: its metrics, where somebody asked for them, and what it logs."""

import socket
from pathlib import Path

import aiohttp
import pytest
from temporalio.service import RPCError

from devcluster.temporal import temporal_server
from runtime.serving import CannotListen
from runtime.settings import Settings, SettingsError
from runtime.temporal import connect
from runtime.temporal_core import temporal_core
from tests.ports import free_port


async def test_temporal_has_an_address_of_its_own_where_one_is_set() -> None:
    address = f"127.0.0.1:{free_port()}"
    runtime = temporal_core(address)
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/metrics") as answer:
        assert answer.status == 200
    del runtime  # it served for as long as somebody held it


async def test_calls_that_are_tried_again_are_no_lines_of_a_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with temporal_server(tmp_path) as server:
        address = {"TEMPORAL_ADDRESS": server.address, "TEMPORAL_NAMESPACE": server.namespace}
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


def test_address_that_is_none_is_refused_by_its_setting() -> None:
    given = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_TEMPORAL_METRICS_ADDRESS": "foo"}
    with pytest.raises(SettingsError, match=r"^PARAMEDIC_TEMPORAL_METRICS_ADDRESS: must be host:port"):
        Settings.from_environment(given)
