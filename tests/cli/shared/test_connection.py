"""Where Temporal is, and what is said where it is not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.service import RPCError

from cli.shared.connection import silent_core
from devcluster.temporal import TemporalServer
from runtime.temporal import connect
from tests.support.api.ports import free_port
from tests.support.cluster.command import Command

COMMANDS = [("list",), ("show", "node-1"), ("abort", "node-1"), ("resume", "node-1"), ("setup",)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
async def test_temporal_that_is_not_there_is_one_sentence(command: tuple[str, ...]) -> None:
    address = f"127.0.0.1:{free_port()}"
    ran = await Command({"TEMPORAL_ADDRESS": address})(*command)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == f"paramedic: Temporal at {address} cannot be reached: Connection refused\n"


async def test_namespace_that_is_not_there(paramedic: Command) -> None:
    ran = await paramedic("--namespace", "nowhere", "list")
    assert ran.code == 4
    assert "Namespace nowhere is not found" in ran.err
    assert len(ran.err.splitlines()) == 1


async def test_namespace_of_others_is_no_all_clear(temporal_server: TemporalServer) -> None:
    in_default = Command({"TEMPORAL_ADDRESS": temporal_server.address})
    for command in (("list", "-o", "json"), ("hold", "node-1")):
        ran = await in_default(*command)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            f"paramedic: the Temporal namespace default at {temporal_server.address} lacks the search "
            "attributes of Paramedic: if it is the right one, `paramedic setup` prepares it\n"
        )


@pytest.mark.parametrize("option", ["--namespace", "--address", "--profile"])
async def test_option_that_says_nothing_is_refused(option: str) -> None:
    ran = await Command({})(option, "", "list")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"paramedic: invalid value for {option}: must not be empty (see paramedic --help)\n"


async def test_core_says_nothing_on_standard_output(
    temporal_server: TemporalServer, capfd: pytest.CaptureFixture[str]
) -> None:
    async with proxy(temporal_server.address) as (address, cut):
        client = await connect(environment={"TEMPORAL_ADDRESS": address}, runtime=silent_core())
        cut()
        with pytest.raises(RPCError):
            await client.count_workflows("", rpc_timeout=timedelta(seconds=5))
    assert capfd.readouterr().out == ""


@asynccontextmanager
async def proxy(address: str) -> AsyncIterator[tuple[str, Callable[[], None]]]:
    """Its address, and what cuts its connections for good."""
    host, _, port = address.rpartition(":")
    writers: list[asyncio.StreamWriter] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_connection(host, int(port))
        writers.extend((writer, here))
        await asyncio.gather(copy(reader, here), copy(there, writer))

    def cut() -> None:
        server.close()
        for writer in writers:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", cut


async def test_options_do_what_the_variables_do(temporal_server: TemporalServer) -> None:
    options = ("--address", temporal_server.address, "--namespace", temporal_server.namespace)
    assert (await Command({"TEMPORAL_ADDRESS": "127.0.0.1:1"})(*options, "list")).code == 0


async def test_profile_of_the_configuration_file(temporal_server: TemporalServer, tmp_path: Path) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text(
        f'[profile.here]\naddress = "{temporal_server.address}"\nnamespace = "{temporal_server.namespace}"\n'
    )
    paramedic = Command({"TEMPORAL_CONFIG_FILE": str(file)})
    assert (await paramedic("--profile", "here", "list")).code == 0
    assert (await paramedic("list", TEMPORAL_PROFILE="here")).code == 0
    ran = await paramedic("--profile", "there", "list")
    assert ran.code == 2
    assert ran.err == f"paramedic: --profile: no profile 'there' in {file}, there are here\n"


async def test_address_that_is_none_is_a_wrong_setting() -> None:
    ran = await Command({})("--address", "not an address", "list")
    assert ran.code == 2
    assert "'not an address'" in ran.err


async def test_commands_and_options_that_do_not_exist_are_wrong_usage(paramedic: Command) -> None:
    assert (await paramedic("lst")).code == 2
    ran = await paramedic("list", "--phase", "sleeping")
    assert ran.code == 2
    assert "--phase" in ran.err
    assert "sleeping" in ran.err
