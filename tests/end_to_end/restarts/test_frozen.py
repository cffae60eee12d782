"""What does not move for a while, and then goes on as if no time had passed: processes of ours, servers."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from health.model.node import EXCLUDE_LABEL
from kube.resource import NODES
from tests.end_to_end.restarts.crew import (
    Crew,
    Outage,
    api_server_frozen,
    leader_frozen,
    processes_frozen,
    temporal_frozen,
)
from tests.end_to_end.restarts.incidents import Incidents
from tests.end_to_end.restarts.witnesses import heard_since
from tests.end_to_end.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

LASTING = timedelta(seconds=40)
"""Longer than what was seen may be acted on, a leader keeps its Lease, and any activity may take."""
TO_SEE_AGAIN = timedelta(seconds=35)
"""Watches are opened anew after a wait of up to 30 s, and proven fresh within four; then all is true."""
MANY = 20


def _incidents(world: World, crew: Crew, control_plane: ControlPlane, takes: timedelta) -> Incidents:
    world.patience = timedelta(seconds=90)
    return Incidents(world, crew, control_plane.audit_log, LASTING, LASTING + takes)


@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(processes_frozen, id="detector and worker"),
        pytest.param(temporal_frozen, id="Temporal"),
    ],
)
async def test_incidents_in_every_phase_go_on_when_what_was_frozen_wakes(
    world: World, control_plane: ControlPlane, crew: Crew, tmp_path: Path, outage: Outage
) -> None:
    incidents = _incidents(world, crew, control_plane, takes=timedelta(seconds=20))
    await crew.start()
    async with incidents.begun(tmp_path) as create:
        async with outage(crew):
            await incidents.change(create)
            await asyncio.sleep(LASTING.total_seconds())
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()


async def test_incidents_in_every_phase_go_on_when_an_api_server_that_was_frozen_wakes(
    world: World, control_plane: ControlPlane, crew: Crew, tmp_path: Path
) -> None:
    incidents = _incidents(world, crew, control_plane, takes=TO_SEE_AGAIN)
    await crew.start()
    async with incidents.begun(tmp_path) as create:
        async with api_server_frozen(crew):
            await asyncio.sleep(LASTING.total_seconds())
        await incidents.change(create)
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()


async def test_a_leader_that_was_frozen_leaves_the_incidents_to_its_successor_when_it_wakes(
    world: World, crew: Crew
) -> None:
    world.patience = timedelta(seconds=60)
    await crew.start()
    await crew.standby.start_ready()
    nodes = await world.add_nodes(MANY)
    await world.add_check()
    await _exclude(world, nodes, "true")
    await world.fail(*nodes)
    for node in nodes:
        await world.until_phase(node, "Held")

    # What it has not read yet is news to it when it wakes, of incidents that another one takes care of.
    async with leader_frozen(crew):
        await _exclude(world, nodes, None)
        await world.until_requested(*nodes)
    woken = datetime.now(UTC)
    await crew.detector.ready()
    await world.recover(*nodes)
    for node in nodes:
        assert await world.outcome(node) == "Remediated"

    standby = crew.standby.environment["PARAMEDIC_IDENTITY"]
    assert await crew.leader() == standby
    assert set(await heard_since(world, nodes, woken)) == {standby}
    crew.nobody_must_have_died()


async def _exclude(world: World, nodes: list[str], value: str | None) -> None:
    patch = {"metadata": {"labels": {EXCLUDE_LABEL: value}}}
    await asyncio.gather(*(world.client.merge_patch(NODES, node, patch) for node in nodes))
