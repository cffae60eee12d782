"""Whatever dies in whatever phase of an incident: afterwards one request or none, as the facts say."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end.restarts.audit import lists_of_detectors
from tests.end_to_end.restarts.crew import (
    Crew,
    Outage,
    api_server_killed,
    detector_killed,
    temporal_killed,
    worker_killed,
)
from tests.end_to_end.restarts.incidents import Incidents
from tests.end_to_end.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

LASTING = timedelta(seconds=8)
TO_TAKE_OVER = timedelta(seconds=17)
"""A standby waits for the Lease of a leader that died to run out: 15 s, and looks every 2 s."""
AWAY = timedelta(seconds=40)
TO_SEE_AGAIN = timedelta(seconds=40)
"""A reflector looks for the server every 30 s at the latest, and lists within 2 s when it is told to."""
APART = timedelta(seconds=0.3)
UNTIL_THE_CORE_GIVES_UP = timedelta(seconds=20)
"""A worker of the SDK that cannot ask its first question ends after 10 to 19 s."""


def _incidents(world: World, crew: Crew, control_plane: ControlPlane, takes: timedelta) -> Incidents:
    world.patience = timedelta(seconds=60)
    return Incidents(world, crew, control_plane.audit_log, LASTING, LASTING + takes)


@pytest.mark.rule("NHC 2.7/restart", "rule 1")
@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(worker_killed, id="the worker"),
        pytest.param(detector_killed, id="the detector"),
        pytest.param(temporal_killed, id="Temporal"),
    ],
)
async def test_incidents_in_every_phase_go_on_when_a_process_that_was_killed_is_started_again(
    world: World, control_plane: ControlPlane, crew: Crew, tmp_path: Path, outage: Outage
) -> None:
    incidents = _incidents(world, crew, control_plane, takes=timedelta(seconds=10))
    await crew.start()
    async with incidents.begun(tmp_path) as create:
        async with outage(crew):
            await incidents.change(create)
            await asyncio.sleep(LASTING.total_seconds())
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()


async def test_incidents_in_every_phase_go_on_when_an_api_server_was_away_for_longer_than_sight_lasts(
    world: World, control_plane: ControlPlane, crew: Crew, tmp_path: Path
) -> None:
    incidents = Incidents(world, crew, control_plane.audit_log, AWAY, AWAY + TO_SEE_AGAIN)
    world.patience = timedelta(seconds=90)
    await crew.start()
    async with incidents.begun(tmp_path) as create:
        gone = datetime.now(UTC)
        async with api_server_killed(crew):
            await asyncio.sleep(AWAY.total_seconds())
        await incidents.change(create)
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()
    _lists_must_be_spread(lists_of_detectors(control_plane.audit_log, gone))


def _lists_must_be_spread(lists: dict[str, list[datetime]]) -> None:
    """Each kind is listed once, and not all at the moment of the return."""
    times = sorted(time for times in lists.values() for time in times)
    assert len(times) == len(lists) > 1, lists
    assert times[-1] - times[0] > APART, lists


async def test_incidents_in_every_phase_go_on_with_the_standby_when_the_leader_is_killed_for_good(
    world: World, control_plane: ControlPlane, crew: Crew, tmp_path: Path
) -> None:
    incidents = _incidents(world, crew, control_plane, takes=TO_TAKE_OVER)
    await crew.start()
    await crew.standby.start_ready()
    async with incidents.begun(tmp_path) as create:
        await crew.detector.kill()
        await incidents.change(create)
        await asyncio.sleep(LASTING.total_seconds())
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()
    assert await crew.leader() == "standby-of-the-tests"


async def test_detectors_that_take_the_lead_or_start_without_temporal_tell_the_truth_and_go_on_with_it(
    world: World, crew: Crew
) -> None:
    world.patience = timedelta(seconds=60)
    await crew.start()
    await crew.standby.start_ready()
    node, _ = await world.add_nodes(2)
    await world.add_check()
    await world.until_status(healthyNodes=2)

    async with temporal_killed(crew):
        await crew.detector.kill()
        await world.fail(node)
        await world.until_status(healthyNodes=1)
        assert await crew.leader() == "standby-of-the-tests"
        await asyncio.sleep(UNTIL_THE_CORE_GIVES_UP.total_seconds())
        await crew.standby.kill()
        await crew.detector.start()
        await world.recover(node)
        await world.until_status(healthyNodes=2)
        await world.fail(node)

    await world.until_requested(node)
    await crew.detector.ready()
    crew.nobody_must_have_died()
    assert world.requests.created(node) == 1
