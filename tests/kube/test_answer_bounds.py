"""Whoever serves a workload cluster cannot end our process by what it answers."""

import gzip
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from kube import answer_bounds
from kube.client import Client
from kube.decoding import Decoder
from kube.errors import Malformed
from kube.listing import Paging, list_all
from kube.resource import NODES
from kube.transport import Transport
from tests.kube.api_server import ApiServer, said
from tests.kube.objects import Widget

PATH = NODES.path()
WITHOUT_END = said({"metadata": {"resourceVersion": "1", "continue": "more"}, "items": []})


async def by_reflector(transport: Transport) -> Any:
    return await list_all(transport, PATH, Decoder(Widget), (), Paging())


async def by_client(transport: Transport) -> Any:
    return await Client(transport).list(NODES)


EACH_WAY = pytest.mark.parametrize("listed", [by_reflector, by_client])


@pytest.mark.parametrize("status", [200, 500])
async def test_body_is_counted_unpacked_and_given_up(
    server: ApiServer, transport: Transport, status: int
) -> None:
    packed = gzip.compress(b" " * (answer_bounds.MOST_OF_A_BODY + 1), compresslevel=1)

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=packed, status=status, headers={"Content-Encoding": "gzip"})

    server.answer("GET", "/x", answer)
    with pytest.raises(Malformed, match=r"^GET /x was answered with over 67108864 bytes\.$"):
        await transport.request("GET", "/x")


@EACH_WAY
async def test_list_without_an_end_is_given_up(
    server: ApiServer,
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    listed: Callable[[Transport], Awaitable[Any]],
) -> None:
    monkeypatch.setattr(answer_bounds, "MOST_PAGES", 3)
    server.answer("GET", PATH, WITHOUT_END)

    with pytest.raises(Malformed, match=r"^The list of /api/v1/nodes has over 3 pages\.$"):
        await listed(transport)
    assert len(server.asked) == 4


@EACH_WAY
async def test_list_is_given_up_by_the_sum_of_its_pages(
    server: ApiServer,
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    listed: Callable[[Transport], Awaitable[Any]],
) -> None:
    monkeypatch.setattr(answer_bounds, "MOST_OF_A_LIST", 100)
    server.answer("GET", PATH, WITHOUT_END)

    with pytest.raises(Malformed, match=r"^The list of /api/v1/nodes has over 100 bytes\.$"):
        await listed(transport)
    assert len(server.asked) == 2
