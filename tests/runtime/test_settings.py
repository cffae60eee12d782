import pytest

from runtime.address import Address
from runtime.settings import Settings, SettingsError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:1", "127.0.0.1", 1),
        ("localhost:65535", "localhost", 65535),
        (":8081", "", 8081),
        ("[::1]:8081", "::1", 8081),
    ],
)
def test_address_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)
    assert Settings(cluster="c", ready_address=text).ready_address == text


@pytest.mark.parametrize(
    "text",
    ["", "foo", "8081", "127.0.0.1:", "127.0.0.1:x", "a:0", "a:-1", "127.0.0.1:99999", "::1:80", "a:\u0661"],
)
def test_address_that_is_none_is_refused_by_name_and_value(text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_READY_ADDRESS": text})
    assert str(refused.value) == (
        f"PARAMEDIC_READY_ADDRESS: must be host:port, with a port from 1 to 65535 (found {text!r})"
    )
