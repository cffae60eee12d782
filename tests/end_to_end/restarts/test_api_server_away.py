"""The API server is away for 5 min: longer than the picture of the cluster may be acted on."""

from datetime import timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end.restarts.api_server_away import incidents_go_on
from tests.end_to_end.restarts.crew import Crew
from tests.end_to_end.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


async def test_incidents_in_every_phase_go_on_after_5_minutes_without_an_api_server(
    world: World, control_plane: ControlPlane, crew: Crew, tmp_path: Path
) -> None:
    await incidents_go_on(world, control_plane, crew, tmp_path, timedelta(minutes=5))
