"""Answers and lines of a watch become records, or are named; large ones in a thread."""

import gc
import json
import tracemalloc
from typing import Any

import pytest

from health.model.node import Node
from kube.answer_bounds import MOST_ITEMS_OF_A_PAGE
from kube.decoding import Bookmark, Decoder, ObjectEvent, Undecodable, WatchError
from kube.decoding_thread import SMALL, decoded
from kube.errors import Malformed
from kube.record import ChangeKind, Key
from tests.kube.objects import Widget, bookmark, event, failed, listed, widget

DECODER = Decoder(Widget)


def _bytes(value: object) -> bytes:
    return json.dumps(value).encode()


def test_page_becomes_records() -> None:
    page = DECODER.page(_bytes(listed(7, widget("a", 1), widget("b", 2), token="more")))

    assert [record.metadata.name for record in page.records] == ["a", "b"]
    assert (page.resource_version, page.token, page.undecodable) == ("7", "more", ())


def test_items_may_be_null() -> None:
    assert DECODER.page(b'{"metadata":{"resourceVersion":"7"},"items":null}').records == ()


def test_one_object_that_does_not_decode_leaves_the_others() -> None:
    page = DECODER.page(_bytes(listed(7, widget("a", 1), widget("b", 2, size="big"), widget("c", 3))))

    assert [record.metadata.name for record in page.records] == ["a", "c"]
    assert [(failure.key, failure.resource_version) for failure in page.undecodable] == [(Key("", "b"), "2")]
    assert "spec.size" in page.undecodable[0].error
    assert "'big'" in page.undecodable[0].error


@pytest.mark.parametrize(
    "item", [{}, {"metadata": {"name": "a"}}, widget("a", 1), widget("a", 1, size="big")]
)
def test_page_is_refused_at_the_first_object_that_is_too_many(item: dict[str, Any]) -> None:
    # An error of the whole list would contain the list as Python values, which takes up to a second.
    with pytest.raises(Malformed, match=r"is no list: items\[1000\]: A page has at most 1000 objects$"):
        DECODER.page(_bytes(listed(7, *[item] * (2 * MOST_ITEMS_OF_A_PAGE))))


def test_page_may_have_as_many_objects_as_the_bound_says() -> None:
    page = DECODER.page(_bytes(listed(7, *[widget("a", 1)] * MOST_ITEMS_OF_A_PAGE)))
    assert len(page.records) == MOST_ITEMS_OF_A_PAGE


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b'{"items":[]}'])
def test_page_that_is_no_list_is_malformed(answer: bytes) -> None:
    with pytest.raises(Malformed):
        DECODER.page(answer)


def test_one_object_becomes_a_record_or_is_named() -> None:
    read, undecodable = (DECODER.object(_bytes(widget("a", 5, size=size))) for size in (3, "big"))

    assert isinstance(read, Widget)
    assert read.spec.size == 3
    assert isinstance(undecodable, Undecodable)
    assert (undecodable.key, undecodable.resource_version) == (Key("", "a"), "5")


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]"])
def test_answer_that_is_no_object_is_malformed(answer: bytes) -> None:
    with pytest.raises(Malformed):
        DECODER.object(answer)


@pytest.mark.parametrize("kind", list(ChangeKind))
def test_line_becomes_what_was_seen(kind: ChangeKind) -> None:
    received = DECODER.line(_bytes(event(kind, widget("a", 1, size=3))))

    assert isinstance(received, ObjectEvent)
    assert received.kind is kind
    assert isinstance(received.found, Widget)
    assert received.found.spec.size == 3


def test_object_in_a_line_that_does_not_decode_is_named() -> None:
    received = DECODER.line(_bytes(event("MODIFIED", widget("a", 5, size="big"))))

    assert isinstance(received, ObjectEvent)
    assert isinstance(received.found, Undecodable)
    assert (received.found.key, received.found.resource_version) == (Key("", "a"), "5")


def test_bookmark_is_distinguished_from_an_object() -> None:
    assert DECODER.line(_bytes(bookmark(9))) == Bookmark("9")


def test_error_is_distinguished_from_an_object() -> None:
    answer = DECODER.line(_bytes(failed(410, "Expired")))

    assert isinstance(answer, WatchError)
    assert (answer.status.code, answer.status.reason) == (410, "Expired")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"{", id="not JSON"),
        pytest.param(_bytes({"type": "ADDED"}), id="without an object"),
        pytest.param(_bytes({"type": "RENAMED", "object": widget("a", 1)}), id="unknown type"),
        pytest.param(_bytes({"type": "ADDED", "object": {"spec": {}}}), id="without metadata"),
        pytest.param(_bytes({"type": "ERROR", "object": {"code": "x"}}), id="error without a Status"),
    ],
)
def test_line_that_is_no_event_is_malformed(line: bytes) -> None:
    with pytest.raises(Malformed):
        DECODER.line(line)


def test_line_that_is_no_json_is_reported_without_a_field() -> None:
    with pytest.raises(Malformed) as told:
        DECODER.line(b"nonsense")
    assert str(told.value).startswith("A line of a watch is no event: it is no JSON")


def test_long_value_of_a_broken_field_is_cut() -> None:
    page: dict[str, Any] = listed(1, widget("a", 1, size="x" * 1000))

    assert len(DECODER.page(_bytes(page)).undecodable[0].error) < 200


def test_long_name_of_a_broken_field_is_cut() -> None:
    labels = {"k" * 1_000_000: 1}
    node = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "labels": labels}}
    page = Decoder(Node).page(_bytes(listed(1, node)))

    assert page.undecodable[0].error.startswith("metadata.labels.kkk")
    assert len(page.undecodable[0].error) < 500


@pytest.mark.parametrize(("field", "longest"), [("name", 253), ("namespace", 63), ("resourceVersion", 128)])
def test_answer_with_an_undecodable_object_whose_name_is_too_long_is_malformed(
    field: str, longest: int
) -> None:
    def line(length: int) -> bytes:
        named = {"name": "a", field: "1" * length}
        return _bytes(event("ADDED", {"metadata": named, "spec": {"size": "big"}}))

    assert isinstance(DECODER.line(line(longest)), ObjectEvent)
    with pytest.raises(Malformed) as refused:
        DECODER.line(line(1_000_000))
    assert len(str(refused.value)) < 500


def test_long_type_of_an_event_is_cut() -> None:
    with pytest.raises(Malformed, match=r"^A watch reports 'TTT.*…', which is unknown\.$") as refused:
        DECODER.line(_bytes(event("T" * 1_000_000, widget("a", 1))))
    assert len(str(refused.value)) < 200


def test_unknown_field_of_an_object_that_does_not_decode_becomes_no_python_values() -> None:
    line = _bytes(event("ADDED", widget("a", 1, size="big") | {"unknown": [[]] * 100_000}))
    tracemalloc.start()
    try:
        received = DECODER.line(line)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert isinstance(received, ObjectEvent)
    assert isinstance(received.found, Undecodable)
    assert received.found.error.startswith("spec.size: ")
    assert peak < 1_000_000


async def test_no_garbage_is_collected_while_a_large_answer_is_decoded() -> None:
    def decode(_: bytes) -> bool:
        return gc.isenabled()

    assert gc.isenabled()
    assert await decoded(decode, b" " * (SMALL + 1)) is False
    assert gc.isenabled()


async def test_garbage_is_collected_after_an_answer_that_does_not_decode() -> None:
    def decode(_: bytes) -> None:
        raise Malformed("no answer")

    with pytest.raises(Malformed, match="no answer"):
        await decoded(decode, b" " * (SMALL + 1))
    assert gc.isenabled()
