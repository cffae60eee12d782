"""Fixtures of all tests: a scripted API server, and a connection to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube.client import Client
from kube.transport import Transport
from tests.support.api.api_server import ApiServer


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    async with ApiServer(tmp_path) as running:
        yield running


@pytest.fixture
async def transport(server: ApiServer) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(server.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def client(transport: Transport) -> Client:
    return Client(transport)
