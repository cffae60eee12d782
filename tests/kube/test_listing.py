"""A list is read in pages, and the next page is requested while one is decoded."""

import json
import threading
from typing import Any

import pytest
from aiohttp import web

from kube.answer_bounds import MOST_OF_A_PAGE
from kube.decoding import Decoder, ListPage
from kube.decoding_thread import SMALL
from kube.listing import Paging, list_all, token_ahead
from kube.resource import NODES
from kube.transport import Transport
from tests.kube.objects import Widget, listed, widget
from tests.support.api.api_server import ApiServer, said

PATH = NODES.path()


class PatientDecoder(Decoder[Widget]):
    """Decodes the first page only once the second one is requested, or after ten seconds."""

    def __init__(self) -> None:
        super().__init__(Widget)
        self.next_is_requested = threading.Event()
        self.was_in_time: list[bool] = []

    def page(self, answer: bytes) -> ListPage[Widget]:
        self.was_in_time.append(self.next_is_requested.wait(10))
        return super().page(answer)


def large(name: str, token: str) -> dict[str, Any]:
    """A page that is decoded in the thread."""
    page = listed(7, widget(name, 1), token=token)
    page["items"][0]["padding"] = "x" * SMALL
    return page


async def test_next_page_is_requested_while_a_page_is_decoded(
    server: ApiServer, transport: Transport
) -> None:
    decoder = PatientDecoder()

    async def answer(request: web.Request) -> web.StreamResponse:
        is_second = request.query.get("continue") == "more"
        if is_second:
            decoder.next_is_requested.set()
        return web.json_response(large("b", "") if is_second else large("a", "more"))

    server.answer("GET", PATH, answer)

    found = await list_all(transport, PATH, decoder, (), Paging())

    assert [record.metadata.name for record in found.records] == ["a", "b"]
    assert decoder.was_in_time == [True, True]
    assert len(server.asked) == 2


async def test_list_whose_token_follows_the_objects_is_read_completely(
    server: ApiServer, transport: Transport
) -> None:
    first, second = large("a", "more"), large("b", "")
    late = {"items": first["items"], "metadata": first["metadata"]}
    server.answer("GET", PATH, said(late), said(second))

    found = await list_all(transport, PATH, Decoder(Widget), (), Paging())

    assert [record.metadata.name for record in found.records] == ["a", "b"]
    assert [asked.query.get("continue") for asked in server.asked] == [None, "more"]


@pytest.mark.parametrize(
    ("of_a_page", "limit"),
    [(1.0, "100"), (0.75, "100"), (0.3, "250"), (0.01, "500")],
    ids=["large objects", "objects that fill three quarters", "smaller ones", "small ones"],
)
async def test_next_page_has_as_many_objects_as_fill_three_quarters_of_it(
    server: ApiServer, transport: Transport, of_a_page: float, limit: str
) -> None:
    first = listed(7, widget("a", 1), token="more")
    first["items"][0]["padding"] = "x" * int(MOST_OF_A_PAGE * of_a_page - len(json.dumps(first)) - 20)
    server.answer("GET", PATH, said(first), said(listed(7, widget("b", 2))))

    await list_all(transport, PATH, Decoder(Widget), (), Paging())

    assert [asked.query["limit"] for asked in server.asked] == ["100", limit]


@pytest.mark.parametrize(
    ("page", "token"),
    [
        ({"kind": "List", "metadata": {"resourceVersion": "1", "continue": "more"}, "items": []}, "more"),
        ({"metadata": {"resourceVersion": "1", "continue": ""}, "items": ["x" * 9000]}, ""),
        ({"metadata": {"resourceVersion": "1"}, "items": []}, ""),
        ({"metadata": {"continue": 7}}, ""),
        ({"metadata": []}, ""),
        ([], ""),
        ({"items": ["x" * 9000], "metadata": {"continue": "more"}}, ""),
    ],
)
def test_token_is_found_before_the_objects_alone(page: object, token: str) -> None:
    assert token_ahead(json.dumps(page).encode()) == token


def test_answer_that_is_no_json_has_no_token() -> None:
    assert token_ahead(b"<html>") == ""
