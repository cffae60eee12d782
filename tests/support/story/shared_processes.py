"""Fixtures for folders whose tests share a detector and a worker; their conftest imports them by name.

A test leaves nothing behind: its check is deleted, its incidents end by themselves, and our processes keep
running.
"""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from tests.support.story.other_kind import OtherKind, installed_kind
from tests.support.story.pairs import Pairs
from tests.support.story.paramedic import Paramedic, watched_world
from tests.support.story.policies import NO_BACK_OFF
from tests.support.story.world import World


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """Settings of both processes that a test file overrides."""
    return {}


@pytest.fixture(scope="module")
def policy() -> str:
    """The policy of a test file; "" means none."""
    return NO_BACK_OFF


@pytest.fixture(scope="package")  # not longer: they would act on the checks of other folders, too
async def pairs(
    control_plane: ControlPlane, temporal_server: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Pairs]:
    made = Pairs(control_plane, temporal_server, tmp_path_factory.mktemp("paramedic"))
    yield made
    await made.stop()


@pytest.fixture
async def paramedic(pairs: Pairs, settings: dict[str, str], policy: str) -> Paramedic:
    """One running detector and worker for all tests with the same settings."""
    return await pairs.get(settings, policy)


@pytest.fixture(scope="module")
async def other_kind(control_plane: ControlPlane) -> AsyncIterator[OtherKind]:
    """A second kind of request with a template and our rights, for all tests of a file that use it."""
    async with installed_kind(control_plane) as kind:
        await kind.grant()
        yield kind


@pytest.fixture
async def world(
    control_plane: ControlPlane, temporal_client: TemporalClient, paramedic: Paramedic
) -> AsyncIterator[World]:
    async with watched_world(paramedic.cluster_name, control_plane, temporal_client) as world:
        yield world
        await world.remove()
        await world.until_nothing_runs()
