import json
from collections.abc import Iterator
from typing import Any

from kube.object_store import Store
from kube.record import Change, ChangeKind, Key
from tests.kube.objects import Widget, replaced, widget


def _record(name: str, version: int, **fields: Any) -> Widget:
    return Widget.model_validate_json(json.dumps(widget(name, version, **fields)))


def _told(changes: list[Change[Widget]]) -> list[tuple[str, str]]:
    return [(change.kind.value, change.key.name) for change in changes]


def test_new_record_is_added() -> None:
    store: Store[Widget] = Store()
    record = _record("a", 1)

    assert store.put(record) == [Change(ChangeKind.ADDED, Key("", "a"), None, record)]
    assert store.records == {Key("", "a"): record}


def test_changed_record_is_modified_and_both_versions_are_reported() -> None:
    store: Store[Widget] = Store()
    old, new = _record("a", 1, size=1), _record("a", 2, size=2)
    store.put(old)

    assert store.put(new) == [Change(ChangeKind.MODIFIED, Key("", "a"), old, new)]


def test_heartbeat_changes_the_stored_version_and_notifies_no_handler() -> None:
    store: Store[Widget] = Store()
    store.put(_record("a", 1, heartbeat=1))

    assert store.put(_record("a", 2, heartbeat=2)) == []
    assert store.records[Key("", "a")].metadata.resource_version == "2"


def test_object_that_says_something_else_in_another_version_of_its_api_is_reported() -> None:
    store: Store[Widget] = Store()
    store.put(_record("a", 1, size=1))

    assert _told(store.put(_record("a", 1, size=2))) == [("MODIFIED", "a")]


def test_change_of_metadata_is_reported() -> None:
    store: Store[Widget] = Store()
    store.put(_record("a", 1))
    labelled = widget("a", 2)
    labelled["metadata"]["labels"] = {"x": "y"}

    assert _told(store.put(Widget.model_validate_json(json.dumps(labelled)))) == [("MODIFIED", "a")]


def test_replaced_object_went_and_another_came() -> None:
    store: Store[Widget] = Store()
    old, new = _record("a", 1, uid="one"), _record("a", 2, uid="two")
    store.put(old)

    assert store.put(new) == [
        Change(ChangeKind.DELETED, Key("", "a"), old, None),
        Change(ChangeKind.ADDED, Key("", "a"), None, new),
    ]


def test_removed_record_is_reported_once() -> None:
    store: Store[Widget] = Store()
    store.put(_record("a", 1))

    assert _told(store.remove(Key("", "a"))) == [("DELETED", "a")]
    assert store.remove(Key("", "a")) == []


def test_complete_list_is_compared_with_the_store() -> None:
    store: Store[Widget] = Store()
    for name in ("gone", "same", "changed", "replaced"):
        store.put(_record(name, 1))

    changes = replaced(
        store,
        [
            _record("same", 2),
            _record("changed", 2, size=5),
            _record("replaced", 2, uid="another"),
            _record("new", 2),
        ],
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
    store: Store[Widget] = Store()
    old, new = _record("a", 1), _record("b", 2)
    store.put(old)
    steps = store.replacing([new])
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

    steps = Store[Widget]().replacing(records())
    assert [[*taken] for _ in range(3) if next(steps) == []] == [["a"], ["a", "b"], ["a", "b", "c"]]
