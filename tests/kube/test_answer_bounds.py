"""The API server of a workload cluster cannot crash our process by its answers."""

import gzip
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from kube import answer_bounds
from kube.answer_bounds import CacheRoom
from kube.client import Client
from kube.decoding import Decoder
from kube.errors import Malformed, TooLarge
from kube.listing import Paging, list_all
from kube.resource import NODES
from kube.transport import Transport
from tests.kube.objects import Widget, listed, widget
from tests.support.api.api_server import ApiServer, said

PATH = NODES.path()
WITHOUT_END = said({"metadata": {"resourceVersion": "1", "continue": "more"}, "items": []})


async def by_reflector(transport: Transport) -> Any:
    return await list_all(transport, PATH, Decoder(Widget), (), Paging())


async def by_client(transport: Transport) -> Any:
    return await Client(transport).list(NODES)


EACH_WAY = pytest.mark.parametrize("ways", [by_reflector, by_client])


@pytest.mark.parametrize("status", [200, 500])
async def test_body_is_counted_unpacked_and_given_up(
    server: ApiServer, transport: Transport, status: int
) -> None:
    packed = gzip.compress(b" " * (answer_bounds.MOST_OF_AN_OBJECT + 1), compresslevel=1)

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=packed, status=status, headers={"Content-Encoding": "gzip"})

    server.answer("GET", "/x", answer)
    with pytest.raises(TooLarge, match=r"^GET /x was answered with over 1638400 bytes\.$"):
        await transport.request("GET", "/x")


@EACH_WAY
async def test_list_without_an_end_is_given_up(
    server: ApiServer,
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    ways: Callable[[Transport], Awaitable[Any]],
) -> None:
    monkeypatch.setattr(transport, "room", CacheRoom(pages=3))
    server.answer("GET", PATH, WITHOUT_END)

    with pytest.raises(Malformed, match=r"^The list of /api/v1/nodes has over 3 pages\.$"):
        await ways(transport)
    assert len(server.asked) == 4


@EACH_WAY
async def test_list_is_given_up_by_the_sum_of_its_pages(
    server: ApiServer,
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    ways: Callable[[Transport], Awaitable[Any]],
) -> None:
    monkeypatch.setattr(transport, "room", CacheRoom(received=100))
    server.answer("GET", PATH, WITHOUT_END)

    with pytest.raises(Malformed, match=r"^The list of /api/v1/nodes has over 100 bytes\.$"):
        await ways(transport)
    assert len(server.asked) == 2


def page_of(limit: int) -> web.Response:
    """As many Widgets, of which 20 fill a page."""
    large = "x" * (answer_bounds.MOST_OF_A_PAGE // 20 - 1000)
    items = [widget(f"w-{n}", n) | {"spec": {"size": 1, "large": large}} for n in range(limit)]
    return web.json_response(listed(1, *items))


@EACH_WAY
async def test_page_that_is_too_large_is_asked_for_with_fewer_objects(
    server: ApiServer, transport: Transport, ways: Callable[[Transport], Awaitable[Any]]
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return page_of(int(request.query["limit"]))

    server.answer("GET", PATH, answer)
    await ways(transport)

    assert [asked.query["limit"] for asked in server.asked] == ["100", "25", "6"]


async def test_cache_that_answers_with_too_much_is_asked_once(
    server: ApiServer, transport: Transport
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        is_cached = "resourceVersion" in request.query  # a cache ignores the limit
        return page_of(1000 if is_cached else int(request.query["limit"]))

    server.answer("GET", PATH, answer)
    found, has_more = await Client(transport).list_some(NODES, "spec.nodeName=a", most=5)

    asked = [(asked.query["limit"], asked.query.get("resourceVersion")) for asked in server.asked]
    assert asked == [("100", "0"), ("100", None), ("25", None), ("6", None)]
    assert len(found) == 5
    assert has_more


@EACH_WAY
async def test_list_with_one_object_that_is_too_large_is_refused(
    server: ApiServer, transport: Transport, ways: Callable[[Transport], Awaitable[Any]]
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return page_of(25)

    server.answer("GET", PATH, answer)
    server.version(PATH, answer)
    with pytest.raises(TooLarge, match=r"^GET /api/v1/nodes was answered with over 2097152 bytes\.$"):
        await ways(transport)

    assert [asked.query["limit"] for asked in server.asked] == ["100", "25", "6", "1"]


@pytest.mark.parametrize(
    ("room", "message"),
    [
        (CacheRoom(objects=2), "has over 2 objects"),
        (CacheRoom(kept=2), "has over 2 bytes of records"),
        (None, "has over 2 objects that do not decode"),
    ],
)
async def test_list_is_given_up_by_the_number_of_its_objects(
    server: ApiServer,
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    room: CacheRoom | None,
    message: str,
) -> None:
    if room is None:
        monkeypatch.setattr(answer_bounds, "MOST_UNDECODABLE", 2)
    else:
        monkeypatch.setattr(transport, "room", room)
    size = "big" if room is None else 1
    server.answer("GET", PATH, said(listed(1, *(widget(f"w-{n}", n, size=size) for n in range(3)))))

    with pytest.raises(Malformed, match=message):
        await by_reflector(transport)


async def test_object_that_is_nested_without_an_end_is_malformed(
    server: ApiServer, transport: Transport
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"a":' * 100_000, content_type="application/json")

    server.answer("GET", NODES.path(name="a"), answer)
    with pytest.raises(Malformed, match="it is nested too deeply at line 1"):
        await Client(transport).get(NODES, "a")


VALUES = "[" + ",".join(["[]"] * answer_bounds.MOST_VALUES) + "]"


@pytest.mark.parametrize("status", [200, 500])
async def test_object_of_too_many_json_values_is_not_read(
    server: ApiServer, transport: Transport, status: int
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=f'{{"metadata":{VALUES}}}', status=status, content_type="application/json")

    server.answer("GET", NODES.path(name="a"), answer)
    with pytest.raises(TooLarge, match=r"^GET /api/v1/nodes/a was answered with over 105000 JSON values\.$"):
        await Client(transport).get(NODES, "a")


def page_with_one_of_many_values(limit: int) -> web.Response:
    rich = f'{{"metadata":{{"name":"rich","resourceVersion":"1"}},"x":[{VALUES},{VALUES}]}}'
    items = [rich, *['{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":{"size":1}}'] * 10][
        :limit
    ]
    page = f'{{"metadata":{{"resourceVersion":"1"}},"items":[{",".join(items)}]}}'
    return web.Response(body=page, content_type="application/json")


async def test_object_of_very_many_values_is_asked_for_alone_and_named(
    server: ApiServer, transport: Transport
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return page_with_one_of_many_values(int(request.query["limit"]))

    server.answer("GET", PATH, answer)
    server.version(PATH, answer)
    listed = await by_reflector(transport)

    assert [asked.query["limit"] for asked in server.asked] == ["100", "25", "6", "1"]
    assert [undecodable.key.name for undecodable in listed.undecodable] == ["rich"]


async def test_list_of_whole_objects_with_one_of_many_values_is_refused(
    server: ApiServer, transport: Transport
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return page_with_one_of_many_values(int(request.query["limit"]))

    server.answer("GET", PATH, answer)
    server.version(PATH, answer)
    with pytest.raises(TooLarge, match="over 105000 JSON values"):
        await by_client(transport)
    assert [asked.query["limit"] for asked in server.asked] == ["100", "25", "6", "1"]


async def test_list_of_whole_objects_is_given_up_by_their_memory(
    server: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "room", CacheRoom(listed=2000))
    names = [f"w-{number}" for number in range(3)]
    server.answer("GET", PATH, said(listed(1, *(widget(name, 1) for name in names))))

    with pytest.raises(Malformed, match=r"^The list of /api/v1/nodes has over 2000 bytes of memory\.$"):
        await by_client(transport)
    found = await Client(transport).list(NODES, where=lambda one: one["metadata"]["name"] == "w-1")
    assert [item["metadata"]["name"] for item in found] == ["w-1"]


async def test_a_part_of_a_list_ends_at_its_memory(
    server: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_bounds, "MOST_OF_SOME", 4000)
    server.answer("GET", PATH, said(listed(1, widget("a", 1), widget("b", 1), token="more")))

    found, has_more = await Client(transport).list_some(NODES, "spec.nodeName=a", most=100)
    assert len(server.asked) == 2
    assert len(found) == 4
    assert has_more


@pytest.mark.parametrize(
    "page", [{"metadata": []}, {"items": {"a": 1}}, {"items": [1]}, {"metadata": {"continue": 1}}]
)
async def test_page_of_whole_objects_that_is_no_list_is_malformed(
    server: ApiServer, transport: Transport, page: dict[str, Any]
) -> None:
    server.answer("GET", PATH, said({"metadata": {"resourceVersion": "1"}} | page))
    with pytest.raises(Malformed, match=r"^The answer for /api/v1/nodes is not a list\.$"):
        await by_client(transport)
