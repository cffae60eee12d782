"""Findings about the protection of Temporal, judged by its settings."""

import pytest

from cli.doctor.temporal_examination import protection_findings
from runtime.temporal import temporal_settings

ELSEWHERE = {"TEMPORAL_ADDRESS": "temporal.temporal-system:7233"}


@pytest.mark.parametrize("address", ["temporal.temporal-system:7233", "10.0.0.7:7233", "[fd00::7]:7233"])
def test_temporal_elsewhere_without_tls_and_credentials_is_warned_of(address: str) -> None:
    (finding,) = protection_findings(temporal_settings({"TEMPORAL_ADDRESS": address}))
    assert (finding.severity, finding.reason) == ("warning", "TemporalUnprotected")
    assert finding.what == f"Temporal at {address} is asked without TLS and without credentials"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"TEMPORAL_ADDRESS": "127.0.0.1:7233"},
        {"TEMPORAL_ADDRESS": "[::1]:7233"},
        {"TEMPORAL_ADDRESS": "LOCALHOST:7233"},
        ELSEWHERE | {"TEMPORAL_TLS": "true"},
        ELSEWHERE | {"TEMPORAL_API_KEY": "key"},
        ELSEWHERE | {"TEMPORAL_GRPC_META_AUTHORIZATION": "Bearer token"},
    ],
    ids=["default", "loopback", "loopback-6", "localhost", "tls", "api-key", "metadata"],
)
def test_temporal_on_this_machine_or_with_tls_or_credentials_is_nothing_to_say(
    settings: dict[str, str],
) -> None:
    assert protection_findings(temporal_settings(settings)) == []


def test_tls_that_is_turned_off_is_none() -> None:
    assert protection_findings(temporal_settings(ELSEWHERE | {"TEMPORAL_TLS": "false"}))
