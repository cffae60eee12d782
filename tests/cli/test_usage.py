"""A command line that cannot be used is refused in one sentence: option, value, and what is allowed."""

import asyncio
import os
import sys
from importlib.metadata import version

import pytest

from tests.support.cluster.command import Command

PHASES = "Waiting, Held, Acting, Remediating, Exhausted, HealthyDelay, CleaningUp, LeftAlone, Ended"
REFUSALS = {
    "list --phase Foo": f"invalid value for '--phase': 'Foo' is not one of {PHASES}",
    "list -o yaml": "invalid value for '-o' / '--output': 'yaml' is not one of table, wide, json",
    "list --limit 0": "invalid value for '--limit': '0' is not a whole number from 1 on",
    "list --limit x": "invalid value for '--limit': 'x' is not a whole number from 1 on",
    "list --foo": "no such option: --foo",
    "show n -o wide": "invalid value for '-o' / '--output': 'wide' is not one of text, json",
    "hold n --for 3x": "invalid value for '--for': '3x' must be a duration such as 300s, 5m or 1h30m",
    "abort": "missing argument 'NAME...'",
    "dev --dir x --simulate-nodes -1": (
        "invalid value for '--simulate-nodes': '-1' is not a whole number from 0 on"
    ),
    "dev --dir x --machines --provisioning 0": (
        "invalid value for '--provisioning': '0' is not a whole number from 1 to 86400"
    ),
    "dev --dir x --cluster-api v1": "invalid value for '--cluster-api': 'v1' is not one of v1beta2, v1beta1",
    "doctor -o yaml": "invalid value for '-o' / '--output': 'yaml' is not one of text, json",
}


@pytest.mark.parametrize("line", REFUSALS)
async def test_command_line_is_refused_in_one_sentence(line: str) -> None:
    command, *arguments = line.split()
    ran = await Command({})(command, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"paramedic: {REFUSALS[line]} (see paramedic {command} --help)\n"


@pytest.mark.parametrize(("arguments", "code"), [((), 2), (("-h",), 0)])
async def test_without_a_command_and_when_asked_the_help_is_printed(
    arguments: tuple[str, ...], code: int
) -> None:
    ran = await Command({})(*arguments)
    assert (ran.code, ran.err) == (code, "")
    assert "Commands" in ran.out


async def test_phase_may_be_written_in_any_case() -> None:
    ran = await Command({})("--address", "127.0.0.1:1", "list", "--phase", "healthydelay")
    assert ran.code == 4  # it was understood, and Temporal was asked


async def test_version_is_printed() -> None:
    ran = await Command({})("--version")
    assert (ran.code, ran.out) == (0, f"paramedic {version('paramedic')}\n")


async def test_argument_that_is_not_utf8_is_refused_by_its_bytes() -> None:
    ran = await Command({})("hold", "node-1", "--reason", os.fsdecode(b"caf\xe9"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "paramedic: invalid value: argument 'caf\\xe9' is not UTF-8\n"


async def test_command_starts_without_the_libraries_of_kubernetes() -> None:
    """Few commands need Kubernetes, and to load its client takes half a second."""
    found = "import sys, cli.main; print(sorted({'aiohttp', 'kubernetes'} & sys.modules.keys()))"
    ran = await asyncio.create_subprocess_exec(sys.executable, "-c", found, stdout=asyncio.subprocess.PIPE)
    out, _ = await ran.communicate()
    assert (ran.returncode, out.decode().strip()) == (0, "[]")
