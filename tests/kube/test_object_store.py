"""The store of a reflector: its records, and objects that stop to decode and decode again.

Their log is bounded in lines and in their length, whatever the objects do.
"""

import json
import logging
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.decoding import ObjectEvent, Undecodable
from kube.listing import ObjectList
from kube.object_store import MOST_LINES_AT_ONCE, MOST_NAMED, SECONDS_FOR_A_LINE, ObjectStore, UndecodableLog
from kube.record import Change, ChangeKind, Key
from tests.kube.objects import Widget, replaced, widget


def _record(name: str, version: int, **fields: Any) -> Widget:
    return Widget.model_validate_json(json.dumps(widget(name, version, **fields)))


def _put(store: ObjectStore[Widget], record: Widget) -> list[Change[Widget]]:
    return store.apply(ObjectEvent(ChangeKind.MODIFIED, record))


def _listed(*records: Widget) -> ObjectList[Widget]:
    return ObjectList([*records], [], "9")


def _told(changes: list[Change[Widget]]) -> list[tuple[str, str]]:
    return [(change.kind.value, change.key.name) for change in changes]


def test_new_record_is_added() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    record = _record("a", 1)

    assert _put(store, record) == [Change(ChangeKind.ADDED, Key("", "a"), None, record)]
    assert store.records == {Key("", "a"): record}


def test_changed_record_is_modified_and_both_versions_are_reported() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    old, new = _record("a", 1, size=1), _record("a", 2, size=2)
    _put(store, old)

    assert _put(store, new) == [Change(ChangeKind.MODIFIED, Key("", "a"), old, new)]


def test_heartbeat_changes_the_stored_version_and_notifies_no_handler() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    _put(store, _record("a", 1, heartbeat=1))

    assert _put(store, _record("a", 2, heartbeat=2)) == []
    assert store.records[Key("", "a")].metadata.resource_version == "2"


def test_object_that_says_something_else_in_another_version_of_its_api_is_reported() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    _put(store, _record("a", 1, size=1))

    assert _told(_put(store, _record("a", 1, size=2))) == [("MODIFIED", "a")]


def test_change_of_metadata_is_reported() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    _put(store, _record("a", 1))
    labelled = widget("a", 2)
    labelled["metadata"]["labels"] = {"x": "y"}

    assert _told(_put(store, Widget.model_validate_json(json.dumps(labelled)))) == [("MODIFIED", "a")]


def test_replaced_object_went_and_another_came() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    old, new = _record("a", 1, uid="one"), _record("a", 2, uid="two")
    _put(store, old)

    assert _put(store, new) == [
        Change(ChangeKind.DELETED, Key("", "a"), old, None),
        Change(ChangeKind.ADDED, Key("", "a"), None, new),
    ]


def test_removed_record_is_reported_once() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    _put(store, _record("a", 1))

    removed = ObjectEvent(ChangeKind.DELETED, _record("a", 2))
    assert _told(store.apply(removed)) == [("DELETED", "a")]
    assert store.apply(removed) == []


def test_complete_list_is_compared_with_the_store() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    for name in ("gone", "same", "changed", "replaced"):
        _put(store, _record(name, 1))

    changes = replaced(
        store,
        _listed(
            _record("same", 2),
            _record("changed", 2, size=5),
            _record("replaced", 2, uid="another"),
            _record("new", 2),
        ),
    )

    assert _told(changes) == [
        ("DELETED", "gone"),
        ("MODIFIED", "changed"),
        ("DELETED", "replaced"),
        ("ADDED", "replaced"),
        ("ADDED", "new"),
    ]
    assert sorted(key.name for key in store.records) == ["changed", "new", "replaced", "same"]


def test_complete_list_is_taken_over_at_its_last_step() -> None:
    store: ObjectStore[Widget] = ObjectStore("widgets", None)
    old, new = _record("a", 1), _record("b", 2)
    _put(store, old)
    steps = store.replacing(_listed(new))
    told = [_told(next(steps)) for _ in range(3)]
    assert told == [[], [("DELETED", "a")], [("ADDED", "b")]]
    assert store.records == {Key("", "a"): old}
    assert next(steps, None) is None
    assert store.records == {Key("", "b"): new}


def test_each_step_of_a_complete_list_reads_one_record() -> None:
    taken: list[str] = []

    def records() -> Iterator[Widget]:
        for name in ("a", "b", "c"):
            taken.append(name)
            yield _record(name, 1)

    listed = ObjectList(cast("list[Widget]", records()), [], "9")
    steps = ObjectStore[Widget]("widgets", None).replacing(listed)
    assert [[*taken] for _ in range(3) if next(steps) == []] == [["a"], ["a", "b"], ["a", "b", "c"]]


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


class Watched(logging.Handler):
    """A log with a clock that a test sets, and its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.lines: list[str] = []
        self.log = UndecodableLog("nodes of fleet/east", lambda: self.now)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def add(self, *names: str) -> None:
        logger = logging.getLogger("kube.object_store")
        logger.addHandler(self)
        try:
            self.log.add([Undecodable(Key("", name), "1", "no time") for name in names])
        finally:
            logger.removeHandler(self)


def test_line_has_the_source_the_first_names_and_the_number_of_the_others() -> None:
    watched = Watched()
    watched.add(*(f"w{number}" for number in range(1000)))
    named = "; ".join(f"w{number}: no time" for number in range(MOST_NAMED))
    assert watched.lines == [
        f"1000 of nodes of fleet/east do not decode and are left out: {named}; and 995 more"
    ]


def test_objects_beyond_the_rate_are_counted_in_the_next_line() -> None:
    watched = Watched()
    for number in range(1000):
        watched.add(f"w{number}")
    assert len(watched.lines) == MOST_LINES_AT_ONCE
    watched.now += SECONDS_FOR_A_LINE
    watched.add("later")
    watched.add("even-later")
    assert watched.lines[MOST_LINES_AT_ONCE:] == [
        "991 of nodes of fleet/east do not decode and are left out: later: no time; and 990 more"
    ]


def test_list_without_new_objects_is_not_logged() -> None:
    watched = Watched()
    watched.add()
    assert watched.lines == []


@given(st.lists(st.tuples(st.floats(0, 60), st.integers(0, 100)), max_size=30))
def test_no_sequence_of_objects_logs_more_lines_than_the_rate(steps: list[tuple[float, int]]) -> None:
    watched, logged = Watched(), 0
    for pause, objects in steps:
        watched.now += pause
        for number in range(objects):
            watched.add(str(number))
        logged += objects
    passed = watched.now - 100
    assert len(watched.lines) <= MOST_LINES_AT_ONCE + passed / SECONDS_FOR_A_LINE
    assert sum(int(line.split()[0]) for line in watched.lines) <= logged
