"""A process of ours that does not move for a minute, and then goes on as if no time had passed."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from health.node import EXCLUDE_LABEL
from kube.resource import NODES
from tests.end_to_end.restarts.crew import (
    Crew,
    Outage,
    detectors_frozen,
    leader_frozen,
    worker_frozen,
)
from tests.end_to_end.restarts.incidents import Incidents
from tests.end_to_end.restarts.witnesses import heard_since
from tests.end_to_end.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

LASTING = timedelta(seconds=60)
MANY = 20


@pytest.fixture
def incidents(world: World, crew: Crew, control_plane: ControlPlane) -> Incidents:
    world.patience = timedelta(seconds=90)
    return Incidents(world, crew, control_plane.audit_log, LASTING, LASTING + timedelta(seconds=20))


@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(worker_frozen, id="the worker"),
        pytest.param(leader_frozen, id="the leader"),
        pytest.param(detectors_frozen, id="leader and standby"),
    ],
)
async def test_incidents_in_every_phase_go_on_after_a_minute_in_which_a_process_was_frozen(
    incidents: Incidents, crew: Crew, tmp_path: Path, outage: Outage
) -> None:
    await crew.start()
    await crew.standby.start_ready()
    async with incidents.begun(tmp_path) as create:
        async with outage(crew):
            await incidents.change(create)
            await asyncio.sleep(LASTING.total_seconds())
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
