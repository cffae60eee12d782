"""Values that cannot be meant: refused before Temporal is asked, in a sentence that names the option."""

import pytest
from typer import TyperException

from cli.main import app

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
