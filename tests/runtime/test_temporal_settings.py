"""Settings of Temporal in the environment, and the name under which an invalid one is refused."""

import os
import traceback
from pathlib import Path

import pytest

from runtime.settings import SettingsError
from runtime.temporal import connect, in_utf8, temporal_settings
from runtime.temporal_trouble import TemporalUnreachable
from tests.support.api.ports import free_port

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nZm9v\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nZm9v\n-----END PRIVATE KEY-----\n"


def refused(environment: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as error:
        temporal_settings(environment)
    return str(error.value)


def test_variables_of_others_are_none_of_its_business() -> None:
    environment = {"FOO": os.fsdecode(b"\xff"), "TEMPORAL_ADDRESS": "a:1", "TEMPORAL_NAMESPACE": "n"}
    assert temporal_settings(environment) == {"target_host": "a:1", "namespace": "n"}


@pytest.mark.parametrize("value", ["true", "TRUE", "1"])
def test_tls_is_on_by_the_words_for_that(value: str) -> None:
    assert temporal_settings({"TEMPORAL_TLS": value})["tls"]
    assert not temporal_settings({"TEMPORAL_TLS": "False"})["tls"]


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"TEMPORAL_API_KEY": os.fsdecode(b"\xff")}, "TEMPORAL_API_KEY: is not UTF-8"),
        ({"TEMPORAL_NAMESPACE": ""}, "TEMPORAL_NAMESPACE: must not be empty"),
        ({"TEMPORAL_ADDRESS": "http://a:1"}, "TEMPORAL_ADDRESS: 'http://a:1' is not host:port"),
        ({"TEMPORAL_ADDRESS": "a"}, "TEMPORAL_ADDRESS: 'a' is not host:port"),
        ({"TEMPORAL_TLS": "no"}, "TEMPORAL_TLS: 'no' is not one of true, false, 1, 0"),
        ({"TEMPORAL_TLS": ""}, "TEMPORAL_TLS: '' is not one of true, false, 1, 0"),
        (
            {"TEMPORAL_TLS_CLIENT_CERT_DATA": CERTIFICATE},
            (
                "TEMPORAL_TLS_CLIENT_CERT_DATA: needs TEMPORAL_TLS_CLIENT_KEY_PATH "
                "or TEMPORAL_TLS_CLIENT_KEY_DATA beside it"
            ),
        ),
        (
            {"TEMPORAL_TLS_CLIENT_KEY_DATA": KEY},
            (
                "TEMPORAL_TLS_CLIENT_KEY_DATA: needs TEMPORAL_TLS_CLIENT_CERT_PATH "
                "or TEMPORAL_TLS_CLIENT_CERT_DATA beside it"
            ),
        ),
        (
            {"TEMPORAL_TLS_SERVER_CA_CERT_DATA": "garbage"},
            "TEMPORAL_TLS_SERVER_CA_CERT_DATA: holds no certificate",
        ),
        (
            {"TEMPORAL_TLS_SERVER_CA_CERT_PATH": "/nowhere/ca.pem"},
            "TEMPORAL_TLS_SERVER_CA_CERT_PATH: /nowhere/ca.pem: No such file or directory",
        ),
        (
            {"TEMPORAL_CONFIG_FILE": "/nowhere.toml", "TEMPORAL_ADDRESS": "a:1"},
            "TEMPORAL_CONFIG_FILE: /nowhere.toml: No such file or directory",
        ),
        ({"TEMPORAL_CONFIG_FILE": "/"}, "TEMPORAL_CONFIG_FILE: /: Is a directory"),
    ],
)
def test_unusable_setting_is_refused_by_its_name(environment: dict[str, str], sentence: str) -> None:
    assert refused(environment) == sentence


def test_file_that_is_no_toml_is_named_with_the_place_and_without_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text("[profile.default]\napi_key = secret\n")
    with pytest.raises(SettingsError) as caught:
        temporal_settings({"TEMPORAL_CONFIG_FILE": str(file)})
    sentence = str(caught.value)
    assert sentence.startswith(f"TEMPORAL_CONFIG_FILE: {file} cannot be used: TOML parse error at line 2, ")
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_profile_that_is_not_there_is_reported_with_those_that_are(tmp_path: Path) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text('[profile.here]\naddress = "a:1"\n[profile.there]\nnamespace = ""\n')
    environment = {"TEMPORAL_CONFIG_FILE": str(file)}
    assert temporal_settings(environment | {"TEMPORAL_PROFILE": "here"})["target_host"] == "a:1"
    assert refused(environment | {"TEMPORAL_PROFILE": "nope"}) == (
        f"TEMPORAL_PROFILE: no profile 'nope' in {file}, there are here, there"
    )
    assert refused(environment | {"TEMPORAL_PROFILE": "there"}) == (
        "namespace of Temporal's profile: must not be empty"
    )


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"TEMPORAL_ADDRESS": "a b:70"}, "TEMPORAL_ADDRESS: 'a b:70' cannot be used: "),
        ({"TEMPORAL_TLS_SERVER_NAME": "a b"}, "TEMPORAL_TLS_SERVER_NAME: is no name of a server"),
        (
            {"TEMPORAL_TLS_CLIENT_CERT_DATA": "garbage", "TEMPORAL_TLS_CLIENT_KEY_DATA": KEY},
            "TEMPORAL_TLS_CLIENT_",
        ),
        (
            {"TEMPORAL_TLS_CLIENT_CERT_DATA": CERTIFICATE, "TEMPORAL_TLS_CLIENT_KEY_DATA": "garbage"},
            "TEMPORAL_TLS_CLIENT_KEY_DATA: holds no private key",
        ),
        (
            {"TEMPORAL_TLS_CLIENT_CERT_DATA": CERTIFICATE, "TEMPORAL_TLS_CLIENT_KEY_DATA": KEY},
            "TEMPORAL_TLS_CLIENT_KEY_DATA: holds a private key that is spoilt",
        ),
    ],
)
async def test_setting_that_only_the_core_rejects_is_no_outage(
    environment: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingsError) as error:
        await connect(environment={"TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"} | environment)
    assert str(error.value).startswith(sentence)


async def test_usable_settings_of_a_temporal_that_is_away_are_an_outage() -> None:
    with pytest.raises(TemporalUnreachable):
        await connect(environment={"TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}", "TEMPORAL_TLS": "true"})


@pytest.mark.parametrize("text", ["", "node-1", "Grüße… 🙂"])
def test_text_is_itself_whatever_locale_it_was_read_in(text: str) -> None:
    assert in_utf8(text) == text
    assert in_utf8(text.encode().decode("ascii", "surrogateescape")) == text


def test_bytes_that_are_none_are_refused() -> None:
    with pytest.raises(UnicodeError):
        in_utf8(os.fsdecode(b"caf\xe9"))
