"""Where Temporal is, and what is said where it is not."""

from pathlib import Path

import pytest

from devcluster.temporal import TemporalServer
from tests.cli.command import Command
from tests.ports import free_port

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
    assert "Profile 'there' not found" in ran.err


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


async def test_setup_is_safe_to_repeat(paramedic: Command) -> None:
    ran = await paramedic("setup")
    assert (ran.code, ran.out) == (0, "namespace paramedic is set up; added: nothing, all were there\n")
