"""The writers of a check's status, on a real API server; the watch begins at the version of the list."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from cli.doctor.of_checks import STORED_CHECKS, StatusWatch
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.client import Client
from kube.listing import ObjectList, Paging, list_all
from kube.transport import Transport
from tests.cli.doctor.status_writes import (
    MACHINE_CHECKS,
    OURS,
    THEIRS,
    new_check,
    spoil_and_repair,
    write_status,
)

pytestmark = pytest.mark.cluster

LONG = timedelta(minutes=5)
PATIENCE_SECONDS = 60


@pytest.fixture
async def other_check(transport: Transport) -> AsyncIterator[str]:
    async with new_check(transport) as name:
        yield name


async def watch_of(transport: Transport, *names: str) -> StatusWatch:
    """After one look at these checks, and no other."""
    listed = await list_all(transport, MACHINE_CHECKS.path(), STORED_CHECKS, (), Paging())
    records = [check for check in listed.records if check.metadata.name in names]
    assert len(records) == len(names)
    now = datetime.now(UTC)
    listed = ObjectList(records, [], listed.resource_version)
    return StatusWatch(MACHINE_HEALTH_CHECK, MACHINE_CHECKS.path(), listed, ours=frozenset({OURS}), now=now)


def said(watch: StatusWatch, name: str) -> list[str]:
    return [finding.what for finding in watch.findings() if f"default/{name} " in finding.what]


async def test_write_that_we_made_good_does_not_show_in_one_look(
    transport: Transport, machine_check: str
) -> None:
    await spoil_and_repair(transport, machine_check)
    watch = await watch_of(transport, machine_check)
    await watch.follow(transport, timedelta())
    assert watch.findings() == []


async def test_each_write_that_we_made_good_is_seen_until_all_checks_have_a_writer(
    transport: Transport, machine_check: str, other_check: str
) -> None:
    watch = await watch_of(transport, machine_check, other_check)
    for _ in range(3):
        await spoil_and_repair(transport, machine_check)
    await spoil_and_repair(transport, other_check)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await watch.follow(transport, LONG)
    (often,), (once,) = said(watch, machine_check), said(watch, other_check)
    assert "'machine-healthcheck' is still writing the status of MachineHealthCheck default/" in often
    assert "(seen 3 times in " in often
    assert "(seen once in " in once


async def test_status_that_only_we_write_is_watched_for_its_time_and_nothing_is_said(
    transport: Transport, machine_check: str
) -> None:
    watch = await watch_of(transport, machine_check)
    await write_status(transport, OURS, machine_check, healthy=1)
    labels = {"metadata": {"labels": {"team": "a"}}}
    await Client(transport, THEIRS).merge_patch(MACHINE_CHECKS, machine_check, labels, "default")
    await watch.follow(transport, timedelta(seconds=0.3))
    assert watch.findings() == []


async def test_kind_without_checks_is_not_watched(transport: Transport) -> None:
    watch = await watch_of(transport)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await watch.follow(transport, LONG)
    assert watch.findings() == []
