"""Fixtures of a folder whose tests share a detector and a worker; its conftest takes them over by name."""

from collections.abc import AsyncIterator

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from tests.end_to_end.pairs import Pairs


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """Settings of both processes that a file wants to be other than usual."""
    return {}


@pytest.fixture(scope="package")  # no longer: they would act on the checks of other folders too
async def pairs(
    control_plane: ControlPlane, temporal_server: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Pairs]:
    """Our processes; none runs yet."""
    made = Pairs(control_plane, temporal_server, tmp_path_factory.mktemp("paramedic"))
    yield made
    await made.stop()
