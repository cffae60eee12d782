"""Which nodes are detected, and when: also a dozen at a time, and a node with a wrong clock."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest

from kube.resource import LEASES, NODES
from objects.timestamps import stamp
from runtime.process_names import LEADER_LEASE, NAMESPACE
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@pytest.mark.rule("rule 12", "NHC 2.1/14")
async def test_a_node_that_is_unhealthy_when_it_is_created_is_remediated(world: World) -> None:
    await world.add_check()
    (node,) = await world.add_nodes(1, ready="Unknown")

    await world.until_requested(node)
    await world.until_status(observedNodes=1, healthyNodes=0)


@pytest.mark.rule("NHC 2.0/node selector label", "NHC 2.1/8", "NHC 2.1/12", "NHC 2.7/check edited")
async def test_labels_bring_a_node_into_a_check_and_out_of_it(world: World) -> None:
    inside, outside = await world.add_nodes(2)
    await world.add_check(
        selector={
            "matchLabels": {"test": world.name},
            "matchExpressions": [{"key": "role", "operator": "In", "values": ["worker", "spare"]}],
        }
    )
    await world.set_label(inside, "role", "worker")
    await world.until_status(observedNodes=1, healthyNodes=1)
    await world.fail(inside, outside)
    await world.until_requested(inside)
    assert not await world.has_incident(outside)

    await world.set_label(outside, "role", "spare")
    await world.until_requested(outside)
    await world.until_status(observedNodes=2, healthyNodes=0)
    await world.set_label(inside, "role", "worker-of-old")
    assert await world.outcome(inside) == "Released"
    await world.until_clean(inside)
    await world.set_label(outside, "role", None)
    assert await world.outcome(outside) == "Released"
    await world.until_clean(outside)
    await world.until_status(phase="Enabled", observedNodes=0, healthyNodes=0, unhealthyNodes=None)

    # The node is selected again, still unhealthy: a new incident starts.
    await world.set_label(outside, "role", "worker")
    await world.until_requested(outside)
    assert world.requests.created(outside) == 2


FLEET = 12


@pytest.mark.rule(
    "NHC 1.5/RemediationSkipped/threshold",
    "NHC 2.0/check",
    "NHC 2.1/15",
    "NHC 2.2/concurrency",
    "NHC 2.7/check edited",
    "rule 6",
    "rule 43",
)
async def test_a_dozen_nodes_that_fail_at_once_get_no_request_until_the_threshold_allows_one_for_each(
    world: World,
) -> None:
    nodes = await world.add_nodes(FLEET)
    await world.add_check(minHealthy=FLEET)
    await world.until_status(observedNodes=FLEET, healthyNodes=FLEET)

    await world.fail(*nodes)

    for node in nodes:
        await world.until_phase(node, "Held")
        assert re.search(
            r"Threshold: \d+ of 12 unhealthy, at most 0 allowed", (await world.state(node)).details
        )
    await world.until_status(healthyNodes=0)
    await world.until_told("RemediationSkipped", f"should equal or exceed {FLEET}")
    skipped = [event for event in await world.events() if event[1] == "RemediationSkipped"]
    assert [(severity, f"should equal or exceed {FLEET}" in message) for severity, _, message in skipped] == [
        ("Warning", True)
    ]
    assert world.requests.entries == []

    # After the edit of the threshold, all held incidents may act.
    await world.edit_check(minHealthy=0)
    await world.until_requested(*nodes)

    await world.recover(*nodes)
    for node in nodes:
        assert await world.outcome(node) == "Remediated"
    await world.until_clean(*nodes)
    assert {world.requests.created(node) for node in nodes} == {1}
    await world.until_status(healthyNodes=FLEET, phase="Enabled", unhealthyNodes=None)


DURATION, RESOLUTION = timedelta(seconds=4), timedelta(seconds=1)
UNKNOWN = {"type": "Ready", "status": "Unknown", "lastHeartbeatTime": None}


async def write_ready(world: World, node: str, written: datetime | None) -> datetime:
    """Make a node unhealthy with this transition time; returns when."""
    now = datetime.now(UTC)
    stated = {} if written is None else {"lastTransitionTime": stamp(written)}
    patch = {"status": {"conditions": [UNKNOWN | stated]}}
    await world.client.merge_patch(NODES, node, patch, subresource="status")
    return now


async def requested_after(world: World, node: str, failed: datetime) -> timedelta:
    """The time from the failure to the request; times of Kubernetes are cut to whole seconds."""
    await world.until_requested(node)
    created = (await world.request(node))["metadata"]["creationTimestamp"]
    return datetime.fromisoformat(created) + RESOLUTION - failed


@asynccontextmanager
async def written_anew(world: World, node: str) -> AsyncIterator[None]:
    """Write the transition time of a failed node anew twice a second, as some agents do."""

    async def write() -> None:
        while True:
            await write_ready(world, node, datetime.now(UTC))
            await asyncio.sleep(0.5)

    writing = asyncio.create_task(write())
    try:
        yield
    finally:
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing


@pytest.mark.rule("rule 56", "rule 57")
async def test_node_that_was_seen_healthy_fails_when_it_is_seen_whatever_its_clock_writes(
    world: World,
) -> None:
    suffixes = ("behind", "ahead", "without", "anew")
    behind, ahead, without, anew = (await world.add_named_nodes(*suffixes)).values()
    await world.add_check(duration=f"{DURATION.seconds}s")
    await world.until_status(observedNodes=4, healthyNodes=4)

    hours = timedelta(hours=3)
    now = datetime.now(UTC)
    failed = {
        behind: await write_ready(world, behind, now - hours),
        ahead: await write_ready(world, ahead, now + hours),
        without: await write_ready(world, without, None),
        anew: await write_ready(world, anew, now),
    }
    await world.until(lambda: world.has_incident(behind), "the failure was not noticed")
    assert "while its own time is" in (await world.state(behind)).details
    async with written_anew(world, anew):
        waited = {node: await requested_after(world, node, at) for node, at in failed.items()}
    # A believed time is cut to whole seconds, too.
    assert min(waited.values()) >= DURATION - RESOLUTION, waited


@pytest.mark.rule("rule 1", "rule 56")
async def test_restart_of_the_detector_changes_no_deadline_of_a_failure_that_it_saw(
    world: World, paramedic: Paramedic
) -> None:
    (node,) = await world.add_nodes(1)
    duration = timedelta(seconds=30)
    await world.add_check(duration=f"{duration.seconds}s")
    await world.until_status(observedNodes=1, healthyNodes=1)
    failed = await write_ready(world, node, datetime.now(UTC) - timedelta(hours=3))
    await world.until_phase(node, "Waiting")

    await paramedic.detector.stop()
    await paramedic.start()
    assert duration <= await requested_after(world, node, failed)


@pytest.mark.rule("rule 58")
async def test_time_without_a_detector_restarts_the_timers_of_shorter_durations(
    world: World, paramedic: Paramedic
) -> None:
    open_before, fails_meanwhile = await world.add_nodes(2)
    await world.add_check(duration="20s")
    await world.until_status(observedNodes=2, healthyNodes=2)
    await world.fail(open_before)
    await world.until_phase(open_before, "Waiting")
    await paramedic.detector.stop()

    long_ago = datetime.now(UTC) - timedelta(days=21)
    await write_ready(world, fails_meanwhile, long_ago)
    renewed = {"spec": {"renewTime": long_ago.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
    await world.client.merge_patch(LEASES, LEADER_LEASE, renewed, NAMESPACE)
    started = datetime.now(UTC)
    await paramedic.detector.start_ready()
    for node in (open_before, fails_meanwhile):
        assert timedelta(seconds=20) <= await requested_after(world, node, started)
