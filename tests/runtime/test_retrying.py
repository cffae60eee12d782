"""A retry waits for as long as the server asks."""

import asyncio

import pytest

from kube.client import Client
from kube.errors import KubernetesError
from kube.resource import NODES
from runtime.problems import Problems, retry_forever
from tests.support.api.api_server import ApiServer, refused, said
from tests.support.api.slept_time import SleptTime

TOLD_SECONDS = 10
BUSY = refused(429, "TooManyRequests", **{"Retry-After": str(TOLD_SECONDS)})
BROKEN = refused(503, "ServiceUnavailable")
NODE = NODES.path(name="a")


async def test_request_is_sent_again_no_earlier_than_retry_after_and_soon_without_it(
    server: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = SleptTime(monkeypatch, "runtime.problems")
    server.answer("GET", NODE, *map(slept.noting, (BUSY, BUSY, BROKEN, said({"found": True}))))
    async with asyncio.timeout(60):
        found = await retry_forever("nodes", lambda: client.get(NODES, "a"), (KubernetesError,), Problems())
    assert found == {"found": True}
    first, second, third = slept.gaps
    assert min(first, second) > TOLD_SECONDS
    assert third < TOLD_SECONDS
