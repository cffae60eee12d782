"""A command line that cannot be used is refused in one sentence, before Temporal is asked."""

import asyncio
import os
import sys
from importlib.metadata import version

import pytest
from typer import TyperException

from cli.main import app
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


NAME_FORMS = "A node or Machine (NAME, KIND/NAME, NAMESPACE/NAME), CHECK/NAME, or a workflow id."
OBJECT_FORMS = "must be NAME, KIND/NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME"


def refusal(*line: str) -> str:
    with pytest.raises(TyperException) as refused:
        app(list(line), standalone_mode=False)
    assert refused.value.exit_code == 2
    return refused.value.format_message()


@pytest.mark.parametrize("empty", ["", " "])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("list", "--cluster"),
        ("show n", "--cluster"),
        ("hold n", "--cluster"),
        ("hold n", "--reason"),
        ("remediate n --check c", "--reason"),
        ("abort n", "--reason"),
        ("resume n", "--reason"),
        ("resume n", "--step"),
    ],
)
def test_empty_value_is_not_taken_as_none(command: str, option: str, empty: str) -> None:
    found = refusal(*command.split(), option, empty)
    assert found == f"Invalid value for '{option}': must not be empty"


@pytest.mark.parametrize("option", ["--check", "--target"])
@pytest.mark.parametrize("name", ["", "a/", "/a", "a//b", "a/b/c", "Node/ns/a", "Machine/a/b/c"])
def test_name_that_no_object_can_have_is_refused(option: str, name: str) -> None:
    assert refusal("list", option, name) == f"Invalid value for '{option}': {name!r} {OBJECT_FORMS}"


@pytest.mark.parametrize("command", ["show", "hold", "abort", "resume"])
@pytest.mark.parametrize("name", ["", "a//b", "a/b/c/d", "Node/ns/check/a", "remediation/c/X/n/t/u/v/w"])
def test_name_that_no_incident_can_have_is_refused(command: str, name: str) -> None:
    metavar = "NAME" if command == "show" else "NAME..."
    expected = f"Invalid value for '{metavar}': {name!r} is not the name of an incident: {NAME_FORMS}"
    assert refusal(command, name) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("remediate n --reason r", "Missing option '--check'"),
        ("remediate n --check c", "Missing option '--reason'"),
        ("remediate n --check c --reason r --for 24h1s", "'24h1s' must be from 1s to 24h"),
        ("remediate n --check c --reason r --for 10ms", "'10ms' must be from 1s to 24h"),
        ("remediate a/b/c/d --check c --reason r", OBJECT_FORMS),
        ("remediate n --check a//b --reason r", OBJECT_FORMS),
    ],
)
def test_order_to_remediate_without_check_reason_or_limited_time_is_refused(line: str, words: str) -> None:
    assert words in refusal(*line.split())


def test_reason_is_at_most_a_thousand_characters_long() -> None:
    found = refusal("hold", "n", "--reason", "x" * 1001)
    assert found == "Invalid value for '--reason': has 1001 characters, at most 1000 are taken"


@pytest.mark.parametrize(
    "address", ["", "not a url", "localhost:8080", "ftp://a", "http://", "http://[", "http://a b"]
)
def test_address_of_the_ui_is_one_of_a_page(address: str) -> None:
    assert repr(address) in refusal("show", "n", "--ui", address)


def test_doctor_names_the_option_with_a_wrong_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["--address", "foo", "doctor", "--cluster", "c"], standalone_mode=False) == 2
    assert capsys.readouterr().err.startswith("paramedic: --address: 'foo' is not host:port")
