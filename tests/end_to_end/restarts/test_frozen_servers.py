"""A server that does not move for a minute, and then goes on as if no time had passed."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end.restarts.crew import Crew, api_server_frozen, temporal_frozen
from tests.end_to_end.restarts.incidents import Incidents
from tests.end_to_end.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

LASTING = timedelta(seconds=60)
TO_SEE_AGAIN = timedelta(seconds=35)
"""Watches are opened anew after a wait of up to 30 s, and proven fresh within four; then all is true."""


async def test_incidents_in_every_phase_go_on_after_a_minute_in_which_temporal_was_frozen(
    world: World, control_plane: ControlPlane, crew: Crew, tmp_path: Path
) -> None:
    world.patience = timedelta(seconds=90)
    incidents = Incidents(world, crew, control_plane.audit_log, LASTING, LASTING + timedelta(seconds=15))
    await crew.start()
    async with incidents.begun(tmp_path) as create:
        async with temporal_frozen(crew):
            await incidents.change(create)
            await asyncio.sleep(LASTING.total_seconds())
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()


async def test_incidents_in_every_phase_go_on_after_a_minute_in_which_the_api_server_was_frozen(
    world: World, control_plane: ControlPlane, crew: Crew, tmp_path: Path
) -> None:
    world.patience = timedelta(seconds=90)
    incidents = Incidents(world, crew, control_plane.audit_log, LASTING, LASTING + TO_SEE_AGAIN)
    await crew.start()
    async with incidents.begun(tmp_path) as create:
        async with api_server_frozen(crew):
            await asyncio.sleep(LASTING.total_seconds())
        await incidents.change(create)
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()
