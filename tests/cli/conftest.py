"""The command against a real Temporal server, and a fleet whose incidents are real workflows on it."""

import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from devcluster.temporal import TemporalServer
from tests.cli.command import Command
from tests.cli.fleet import Fleet


@pytest.fixture
def paramedic(temporal_server: TemporalServer) -> Command:
    return Command(
        {"TEMPORAL_ADDRESS": temporal_server.address, "TEMPORAL_NAMESPACE": temporal_server.namespace}
    )


@pytest.fixture
async def idle_fleet(temporal_server: TemporalServer) -> AsyncIterator[Fleet]:
    """A fleet without detector and worker."""
    client = await Client.connect(
        temporal_server.address, namespace=temporal_server.namespace, data_converter=pydantic_data_converter
    )
    fleet = Fleet(client, f"c{uuid.uuid4().hex[:6]}-1a2b")
    yield fleet
    await fleet.end()


@pytest.fixture
async def fleet(idle_fleet: Fleet) -> AsyncIterator[Fleet]:
    async with idle_fleet.at_work():
        yield idle_fleet
