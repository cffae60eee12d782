"""Findings where there are more checks than an upgrade pause takes."""

from contextlib import AsyncExitStack

import pytest

from cli.doctor.of_checks import StoredCheck
from cli.doctor.of_upgrade_pause import bound_findings
from health.policy.shadow import SHADOW
from kube.client import Client
from kube.connection import ClusterConnection
from kube.discovery import Discovery
from kube.transport import Transport
from tests.cli.doctor.status_writes import MACHINE_CHECKS, new_check

pytestmark = pytest.mark.cluster


def is_in_shadow(check: StoredCheck) -> bool:
    return SHADOW in check.metadata.annotations


async def test_more_checks_than_an_upgrade_pause_takes_are_a_warning_without_those_in_shadow(
    transport: Transport,
) -> None:
    connection = ClusterConnection(transport, Client(transport), Discovery(transport))
    async with AsyncExitStack() as checks:
        names = [await checks.enter_async_context(new_check(transport)) for _ in range(3)]
        (finding,) = await bound_findings(connection, is_in_shadow, most=2)
        assert await bound_findings(connection, is_in_shadow) == []
        shadow = {"metadata": {"annotations": {SHADOW: "true"}}}
        for name in names:
            await connection.client.merge_patch(MACHINE_CHECKS, name, shadow, "default")
        assert await bound_findings(connection, is_in_shadow, most=2) == []

    assert finding.reason == "TooManyPausableChecks"
    assert finding.what.startswith("upgrades pause ")
    assert "checks, and an upgrade pause takes at most 2: " in finding.what
