"""The programs accept each `paramedic` and `temporal` command of the pages."""

import asyncio

import pytest
import typer
from typer import TyperException
from typer.core import TyperCommand, TyperGroup

from cli.main import app
from devcluster import programs
from tests.support.page_commands import PageCommand, page_commands

OURS = page_commands("paramedic")
VALUES = {"URL": "http://127.0.0.1:8233"}
"""The placeholders that stand for values of one form."""
COMPLETION = "--install-completion"
NO_SERVER = "failed connecting to Temporal server"
NAMES_ONLY = ("temporal settings",)
"""The name of a part of our settings, and no command."""
OF_TEMPORAL = [command for command in page_commands("temporal") if command.text not in NAMES_ONLY]


def parse(command: object, arguments: list[str]) -> None:
    """Parse the arguments as the command does before it runs; raises TyperException.

    A sentence may name a command without its arguments: then the command has to exist.
    """
    if isinstance(command, TyperGroup) and arguments and not arguments[0].startswith("-"):
        if arguments[0] not in command.commands:
            raise TyperException(arguments[0])
        parse(command.commands[arguments[0]], arguments[1:])
    elif arguments:
        assert isinstance(command, TyperCommand | TyperGroup)
        command.make_context(command.name, arguments)


@pytest.mark.parametrize("command", OURS, ids=str)
def test_paramedic_accepts_the_command(command: PageCommand) -> None:
    arguments = [VALUES.get(word, word) for word in command.words[1:]]
    if arguments[0] in (COMPLETION, "…", "--address"):
        return
    parse(typer.main.get_command(app), arguments)


@pytest.mark.parametrize("wrong", [["lst"], ["list", "--faze", "Held"], ["hold", "node-4", "--for", "soon"]])
def test_command_that_is_none_is_found(wrong: list[str]) -> None:
    with pytest.raises(TyperException):
        parse(typer.main.get_command(app), wrong)


@pytest.mark.parametrize("command", OF_TEMPORAL, ids=str)
async def test_temporal_accepts_the_command(command: PageCommand) -> None:
    """It gets as far as the connection, to an address without a server."""
    process = await asyncio.create_subprocess_exec(
        programs.temporal(),
        *command.words[1:],
        "--address=127.0.0.1:1",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert NO_SERVER in output.decode()
