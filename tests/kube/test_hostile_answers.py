"""Answers with as many JSON values as fit are decoded without many Python values."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from health.model.node import Node
from kube.answer_bounds import (
    MOST_DECODED_VALUES,
    MOST_OF_A_PAGE,
    MOST_VALUES,
    values_in,
)
from kube.decoding import Decoder, ObjectEvent, Undecodable
from kube.errors import Malformed
from kube.record import Key

pytestmark = pytest.mark.rule("rule 8/wire")

NODE_IDENTITY = b'"name":"a","resourceVersion":"5"'


def repeated(unit: bytes, size: int) -> bytes:
    return b"[" + b",".join([unit] * (size // (len(unit) + 1))) + b"]"


def hostile(value: bytes) -> dict[str, bytes]:
    """Objects that are bad in different ways, all with the same large value."""
    return {
        "a label": b'{"metadata":{%s,"labels":{"a":%s}}}' % (NODE_IDENTITY, value),
        "labels": b'{"metadata":{%s,"labels":%s}}' % (NODE_IDENTITY, value),
        "an annotation": b'{"metadata":{%s,"annotations":{"a":%s}}}' % (NODE_IDENTITY, value),
        "annotations": b'{"metadata":{%s,"annotations":%s}}' % (NODE_IDENTITY, value),
        "no uid": b'{"metadata":{%s,"unknown":%s}}' % (NODE_IDENTITY, value),
        "taints": b'{"metadata":{%s},"spec":{"taints":%s}}' % (NODE_IDENTITY, value),
        "a time": b'{"metadata":{%s,"creationTimestamp":%s}}' % (NODE_IDENTITY, value),
        "name": b'{"metadata":{"name":%s}}' % value,
        "metadata": b'{"metadata":%s}' % value,
        "null": b'{"metadata":null,"unknown":%s}' % value,
        "no object": value,
    }


NAMED = ("a label", "labels", "an annotation", "annotations", "no uid", "taints", "a time")
DEEP = b"[" * 150 + b"]" * 150
SHAPES = {"lists": b"[]", "deep lists": DEEP, "numbers": b"1"}
LARGE = 4 * MOST_DECODED_VALUES
"""In bytes; the shapes have up to four for each value."""


def _peak(decode: Callable[[bytes], Any], answer: bytes) -> tuple[Any, int]:
    """The result or the error of the decoder, and the most bytes of Python values meanwhile."""
    result: Any
    tracemalloc.start()
    try:
        try:
            result = decode(answer)
        except Malformed as error:
            result = error
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, peak


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("place", hostile(b""))
def test_values_of_a_hostile_object_become_no_python_values(place: str, shape: str) -> None:
    decoder = Decoder(Node)
    item = hostile(repeated(SHAPES[shape], LARGE))[place]
    page = b'{"metadata":{"resourceVersion":"1"},"items":[%s]}' % item
    line = b'{"type":"ADDED","object":%s}' % item
    for decode, answer in ((decoder.page, page), (decoder.object, item), (decoder.line, line)):
        decode(answer.replace(item, json.dumps(GOOD_NODE).encode()))  # compiles the models
        result, peak = _peak(decode, answer)

        assert peak < 100_000
        if place in NAMED:
            assert "Key(namespace='', name='a')" in repr(result)
            assert f"over {MOST_VALUES} JSON values" in repr(result)
        else:
            assert isinstance(result, Malformed)


GOOD_NODE: dict[str, Any] = {
    "metadata": {
        "name": "good",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
}


def test_values_in_an_annotation_of_a_good_object_become_no_python_values() -> None:
    good = json.dumps(GOOD_NODE).encode()
    annotations = b'"annotations":{"a":%s},"name"' % repeated(b"[]", 450_000)
    line = b'{"type":"ADDED","object":%s}' % good.replace(b'"name"', annotations, 1)
    assert MOST_VALUES < values_in(line) < MOST_DECODED_VALUES
    decoder = Decoder(Node)
    decoder.line(b'{"type":"ADDED","object":%s}' % good)  # compiles the models
    result, peak = _peak(decoder.line, line)

    assert result.found.metadata.name == "good"
    assert peak < 100_000


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b'{"metadata":%s,"items":[]}', id="metadata of the list"),
        pytest.param(b'{"metadata":{"resourceVersion":"1","continue":%s},"items":[]}', id="token"),
        pytest.param(b'{"metadata":{"resourceVersion":"1"},"items":{"a":%s}}', id="items"),
        pytest.param(b'{"metadata":{"resourceVersion":"1"},"items":null,"unknown":%s}', id="no items"),
        pytest.param(b"%s", id="the whole"),
    ],
)
def test_values_of_a_hostile_envelope_become_no_python_values(answer: bytes) -> None:
    decoder = Decoder(Node)
    result, peak = _peak(decoder.page, answer % repeated(DEEP, LARGE))

    assert isinstance(result, Malformed)
    assert len(str(result)) < 500
    assert peak < 300_000  # with the models


def test_good_objects_beside_a_hostile_one_are_decoded() -> None:
    many = json.dumps(GOOD_NODE).encode()
    bad = hostile(repeated(b"[]", 450_000))["a label"]
    page = b'{"metadata":{"resourceVersion":"1"},"items":[%s,%s,%s]}' % (many, bad, many)
    assert MOST_VALUES < values_in(page) < MOST_DECODED_VALUES
    found = Decoder(Node).page(page)

    assert [record.metadata.name for record in found.records] == ["good", "good"]
    assert [failure.key.name for failure in found.undecodable] == ["a"]


def test_unknown_field_of_many_values_leaves_a_good_object_good() -> None:
    node = json.dumps(GOOD_NODE | {"unknown": [[]] * (MOST_VALUES + 1)}, separators=(",", ":"))

    assert isinstance(Decoder(Node).object(node.encode()), Node)
    received = Decoder(Node).line(b'{"type":"ADDED","object":%s}' % node.encode())
    assert isinstance(received, ObjectEvent)
    assert isinstance(received.found, Node)


def test_object_of_too_many_values_to_decode_is_named() -> None:
    node = json.dumps(GOOD_NODE | {"unknown": [[]] * MOST_DECODED_VALUES}, separators=(",", ":"))
    found = Decoder(Node).object(node.encode())

    assert isinstance(found, Undecodable)
    assert found.key == Key("", "good")


def test_thousand_bad_objects_of_many_values_are_all_named() -> None:
    items = repeated(hostile(repeated(b"[]", 2_100))["a label"], MOST_OF_A_PAGE - 1024)
    page = Decoder(Node).page(b'{"metadata":{"resourceVersion":"1"},"items":%s}' % items)

    assert len(page.undecodable) == items.count(b'"name"')
    assert not page.records


@pytest.mark.parametrize("type_", ["RENAMED", "BOOKMARK", "ERROR"])
def test_line_of_many_values_that_is_no_event_of_an_object_is_malformed(type_: str) -> None:
    item = hostile(repeated(b"[]", LARGE))["a label"]
    with pytest.raises(Malformed):
        Decoder(Node).line(b'{"type":"%s","object":%s}' % (type_.encode(), item))


@pytest.mark.parametrize(
    ("value", "number"),
    [([], 1), ([[], {}], 3), ({"a": 1, "b": [1, 2]}, 5), ({"a": {"b": {}}}, 3), ("a", 1), ([""], 2)],
)
def test_values_of_compact_json_are_counted(value: object, number: int) -> None:
    assert values_in(json.dumps(value, separators=(",", ":")).encode()) == number


def test_commas_in_a_text_count_as_values() -> None:
    assert values_in(b'"a,b"') == 2
