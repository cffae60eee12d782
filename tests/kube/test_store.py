import json
from collections.abc import Iterator
from typing import Any, cast

from kube.decoding import ObjectEvent
from kube.listing import ObjectList
from kube.object_store import ObjectStore
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
