"""The file of keys: what is read of it, and what is said of one that cannot be used."""

import os
from base64 import b64encode
from pathlib import Path

import pytest

from runtime.payload_codec import PayloadKeys
from runtime.settings import SettingsError
from tests.support.cluster.forked import run
from tests.support.values.payload_keys import LAST_YEAR, THIS_YEAR, keys_file, read

SECRET = b64encode(THIS_YEAR[1]).decode()
SHORT = b64encode(b"sixteen bytes !!").decode()
LIST = "must have `keys`, a list with the `name` and the `secret` of each"
KEY = "must be 32 bytes in base64"


def test_first_key_encrypts_and_all_can_be_found(tmp_path: Path) -> None:
    keys = read(keys_file(tmp_path / "keys", THIS_YEAR, LAST_YEAR))
    assert keys.encrypting == "2026"
    assert keys.get("2025")
    assert keys.get("2024") is None


def test_keys_that_do_not_encrypt_can_be_found(tmp_path: Path) -> None:
    keys = read(keys_file(tmp_path / "keys", THIS_YEAR, encrypts=False))
    assert keys.encrypting is None
    assert keys.get("2026")


def test_without_a_file_there_are_none() -> None:
    assert not PayloadKeys.read(None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        (SECRET, "it is YAML, but not a mapping"),
        ("keys: []", LIST),
        (f"keys: {{'2026': {SECRET}}}", LIST),
        (f"keys: [{{name: a, secret: {SHORT}}}]", f"keys[0].secret: {KEY}"),
        (f"keys: [{{name: a, secret: '{SECRET}!'}}]", f"keys[0].secret: {KEY}"),
        ("keys: [{name: a, secret: 12345}]", f"keys[0].secret: {KEY}"),
        ("keys: [{name: a}]", "keys[0].secret: is missing"),
        (f"keys: [{{secret: {SECRET}}}]", "keys[0].name: is missing"),
        (f"keys: [{{name: 'a b', secret: {SECRET}}}]", "keys[0].name: must be letters, digits,"),
        (f"keys: [{{name: a, secret: {SECRET}, {SECRET}: x}}]", "keys[0]: has a field that is not known"),
        (f"keys: [{{name: a, secret: {SECRET}}}, {{name: a, secret: {SECRET}}}]", "keys: two are called 'a'"),
        (
            f"requireEncryption: maybe\nkeys: [{{name: a, secret: {SECRET}}}]",
            "requireEncryption: must be true or false",
        ),
        (
            f"encrypt: false\nrequireEncryption: true\nkeys: [{{name: a, secret: {SECRET}}}]",
            "requireEncryption: needs encrypt: true",
        ),
        (
            f"encrypt: maybe\nkeys: [{{name: a, secret: {SECRET}}}]",
            "encrypt: must be true or false",
        ),
        (f"keys: [{SECRET}: '", "line 1 is not valid YAML"),
        (f"keys: !!binary {SECRET}", "it has a tag"),
        (f"# {SECRET}" * 1000, "it is longer than 32 KiB"),
        ("\udcff", "it is not UTF-8 text"),
    ],
)
def test_file_that_cannot_be_used_is_reported_by_setting_and_field_and_never_by_value(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "keys"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(SettingsError) as refused:
        read(path)
    said = str(refused.value)
    assert said.startswith(f"PARAMEDIC_PAYLOAD_KEYS_FILE: {path}: {why}")
    assert SECRET not in said
    assert SHORT not in said
    assert refused.value.__cause__ is None  # whose text would quote the file


@pytest.mark.parametrize(
    ("given", "why"),
    [("", "must not be empty"), ("/nowhere/keys", "/nowhere/keys: No such file or directory")],
)
def test_file_that_is_not_there_is_reported_by_setting_and_path(given: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        PayloadKeys.read(given)
    assert str(refused.value) == f"PARAMEDIC_PAYLOAD_KEYS_FILE: {why}"


@pytest.mark.parametrize("program", ["detector", "worker", "paramedic"])
async def test_program_without_a_key_that_it_can_use_ends_with_code_2_and_one_sentence(
    program: str, tmp_path: Path
) -> None:
    file = str(keys_file(tmp_path / "keys", ("2026", b"too short")))
    settings = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_PAYLOAD_KEYS_FILE": file}
    ran = await run(program, *["list"] * (program == "paramedic"), environment=os.environ | settings)
    assert (ran.code, ran.out) == (2, "")
    sentence = f"PARAMEDIC_PAYLOAD_KEYS_FILE: {file}: keys[0].secret: {KEY}\n"
    assert ran.err.removeprefix("paramedic: ") == sentence
