"""What must be so when the API server was away, for however long."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from devcluster.control_plane import ControlPlane
from tests.end_to_end.restarts.audit import lists_of_detectors
from tests.end_to_end.restarts.crew import Crew, api_server_killed
from tests.end_to_end.restarts.incidents import Incidents
from tests.end_to_end.world import World

TO_SEE_AGAIN = timedelta(seconds=40)
"""A reflector looks for the server every 30 s at the latest, and lists within 2 s when it is told to."""

APART = timedelta(seconds=0.3)


async def incidents_go_on(
    world: World, control_plane: ControlPlane, crew: Crew, directory: Path, away: timedelta
) -> None:
    """Begin an incident in each phase, take the API server away, and look at what becomes of them."""
    world.patience = timedelta(seconds=90)
    incidents = Incidents(world, crew, control_plane.audit_log, away, away + TO_SEE_AGAIN)
    await crew.start()
    async with incidents.begun(directory) as create:
        gone = datetime.now(UTC)
        async with api_server_killed(crew):
            await asyncio.sleep(away.total_seconds())
        await incidents.change(create)
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()
    _lists_must_be_spread(lists_of_detectors(control_plane.audit_log, gone))


def _lists_must_be_spread(lists: dict[str, list[datetime]]) -> None:
    """Each kind is listed once, and not all at the moment of the return."""
    times = sorted(time for times in lists.values() for time in times)
    assert len(times) == len(lists) > 1, lists
    assert times[-1] - times[0] > APART, lists
