"""Objects that stop to decode, and decode again: each is either a record or broken, and changes say so."""

import logging

import pytest

from kube.decoding import ObjectEvent, Undecodable
from kube.listing import ObjectList
from kube.object_store import ObjectStore
from kube.record import ChangeKind, Key
from tests.kube.objects import Widget, replaced, widget

A, B = Key("", "a"), Key("", "b")


def read(name: str, version: int) -> Widget:
    return Widget.model_validate(widget(name, version))


def undecodable(key: Key, version: int) -> Undecodable:
    return Undecodable(key, str(version), f"wrong in {version}")


def received(kind: ChangeKind, found: Widget | Undecodable) -> ObjectEvent[Widget]:
    return ObjectEvent(kind, found)


def test_record_that_stops_to_decode_is_reported_as_broken_before_it_is_gone() -> None:
    told: list[tuple[str, bool]] = []
    object_store: ObjectStore[Widget] = ObjectStore(
        "Widget", lambda key, error: told.append((error, key in object_store.records))
    )
    object_store.apply(received(ChangeKind.ADDED, read("a", 1)))

    (change,) = object_store.apply(received(ChangeKind.MODIFIED, undecodable(A, 2)))
    assert (change.kind, change.new) == (ChangeKind.DELETED, None)
    assert told == [("wrong in 2", True)]
    assert object_store.undecodable == {A: "wrong in 2"}
    assert not object_store.records

    (change,) = object_store.apply(received(ChangeKind.MODIFIED, read("a", 3)))
    assert change.kind is ChangeKind.ADDED
    assert not object_store.undecodable
    assert told == [("wrong in 2", True)]
    list(object_store.report_resolved())
    list(object_store.report_resolved())
    assert told == [("wrong in 2", True), ("", True)]


def test_broken_object_that_goes_is_no_change_of_what_decodes_and_is_reported() -> None:
    told: list[str] = []
    object_store: ObjectStore[Widget] = ObjectStore("Widget", lambda _, error: told.append(error))
    object_store.apply(received(ChangeKind.ADDED, undecodable(A, 1)))

    assert object_store.apply(received(ChangeKind.DELETED, undecodable(A, 2))) == []
    list(object_store.report_resolved())
    assert told == ["wrong in 1", ""]
    assert not object_store.undecodable


def test_object_that_was_replaced_by_another_one_that_does_not_decode_is_not_reported_as_resolved() -> None:
    told: list[str] = []
    object_store: ObjectStore[Widget] = ObjectStore("Widget", lambda _, error: told.append(error))
    object_store.apply(received(ChangeKind.ADDED, undecodable(A, 1)))
    object_store.apply(received(ChangeKind.DELETED, undecodable(A, 2)))
    object_store.apply(received(ChangeKind.ADDED, undecodable(A, 3)))
    list(object_store.report_resolved())
    assert told == ["wrong in 1", "wrong in 3"]


def test_list_and_the_end_of_a_kind_leave_nothing_of_before() -> None:
    object_store: ObjectStore[Widget] = ObjectStore("Widget", None)
    replaced(object_store, ObjectList([read("a", 1)], [undecodable(B, 1)], "1"))

    changes = replaced(object_store, ObjectList([read("b", 2)], [undecodable(A, 2)], "2"))
    assert [(change.kind, change.key) for change in changes] == [
        (ChangeKind.DELETED, A),
        (ChangeKind.ADDED, B),
    ]
    assert list(object_store.undecodable) == [A]

    (change,) = object_store.clear()
    assert (change.kind, change.key) == (ChangeKind.DELETED, B)
    assert not object_store.undecodable


def test_event_says_up_to_where_the_watch_has_told() -> None:
    assert received(ChangeKind.ADDED, read("a", 7)).resource_version == "7"
    assert received(ChangeKind.ADDED, undecodable(A, 8)).resource_version == "8"


def test_object_that_does_not_decode_is_logged_once_until_it_decodes_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    object_store: ObjectStore[Widget] = ObjectStore("widgets", None)
    with caplog.at_level(logging.WARNING):
        for version in range(1, 1000):
            object_store.apply(received(ChangeKind.MODIFIED, undecodable(A, version)))
        replaced(object_store, ObjectList([], [undecodable(A, 1000)], "1000"))
        assert len(caplog.records) == 1
        object_store.apply(received(ChangeKind.MODIFIED, read("a", 1001)))
        object_store.apply(received(ChangeKind.MODIFIED, undecodable(A, 1002)))

    left_out = "1 of widgets do not decode and are left out: a: wrong in "
    assert [record.getMessage() for record in caplog.records] == [f"{left_out}1", f"{left_out}1002"]
    assert object_store.undecodable == {A: "wrong in 1002"}


def test_objects_of_a_list_that_do_not_decode_are_reported_one_at_a_time() -> None:
    told: list[tuple[str, str]] = []
    object_store: ObjectStore[Widget] = ObjectStore(
        "Widget", lambda key, error: told.append((key.name, error))
    )
    replaced(object_store, ObjectList([], [undecodable(A, 1), undecodable(B, 1)], "1"))
    assert told == []

    telling = object_store.report_undecodable()
    next(telling)
    assert told == [("a", "wrong in 1")]
    assert list(telling) == [B]

    replaced(object_store, ObjectList([], [undecodable(A, 1), undecodable(B, 2)], "2"))
    assert list(object_store.report_undecodable()) == [B]
    assert told[2:] == [("b", "wrong in 2")]
    assert list(object_store.report_undecodable()) == []
