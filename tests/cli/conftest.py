"""The command against a real Temporal server, and a fleet whose incidents are real workflows on it."""

from collections.abc import AsyncIterator

import pytest

from devcluster.temporal import TemporalServer
from tests.support.cluster.command import Command
from tests.support.story.fleet import Fleet, fleet_of


@pytest.fixture
def paramedic(temporal_server: TemporalServer) -> Command:
    return Command(temporal_server.environment)


@pytest.fixture
async def idle_fleet(temporal_server: TemporalServer) -> AsyncIterator[Fleet]:
    async with fleet_of(temporal_server) as fleet:
        yield fleet


@pytest.fixture
async def fleet(idle_fleet: Fleet) -> AsyncIterator[Fleet]:
    async with idle_fleet.at_work():
        yield idle_fleet
