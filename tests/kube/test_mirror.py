"""Objects that stop to decode, and decode again: each is either a record or broken, and changes say so."""

from kube.decoding import Broken, Seen
from kube.listing import Listed
from kube.mirror import Mirror
from kube.record import ChangeKind, Key
from tests.kube.objects import Widget, widget

A, B = Key("", "a"), Key("", "b")


def read(name: str, version: int) -> Widget:
    return Widget.model_validate(widget(name, version))


def broken(key: Key, version: int) -> Broken:
    return Broken(key, str(version), f"wrong in {version}")


def seen(kind: ChangeKind, found: Widget | Broken) -> Seen[Widget]:
    return Seen(kind, found)


def test_record_that_stops_to_decode_is_told_as_broken_before_it_is_gone() -> None:
    records_when_told: list[bool] = []
    mirror: Mirror[Widget] = Mirror("Widget", lambda key, _: records_when_told.append(key in mirror.records))
    mirror.apply(seen(ChangeKind.ADDED, read("a", 1)))

    (change,) = mirror.apply(seen(ChangeKind.MODIFIED, broken(A, 2)))
    assert (change.kind, change.new) == (ChangeKind.DELETED, None)
    assert records_when_told == [True]
    assert mirror.broken == {A: "wrong in 2"}
    assert not mirror.records

    (change,) = mirror.apply(seen(ChangeKind.MODIFIED, read("a", 3)))
    assert change.kind is ChangeKind.ADDED
    assert not mirror.broken


def test_broken_object_that_goes_is_no_change_of_what_decodes() -> None:
    mirror: Mirror[Widget] = Mirror("Widget", None)
    mirror.apply(seen(ChangeKind.ADDED, broken(A, 1)))

    assert mirror.apply(seen(ChangeKind.DELETED, broken(A, 2))) == []
    assert not mirror.broken


def test_list_and_the_end_of_a_kind_leave_nothing_of_before() -> None:
    mirror: Mirror[Widget] = Mirror("Widget", None)
    mirror.replace(Listed([read("a", 1)], [broken(B, 1)], "1"))

    changes = mirror.replace(Listed([read("b", 2)], [broken(A, 2)], "2"))
    assert [(change.kind, change.key) for change in changes] == [
        (ChangeKind.DELETED, A),
        (ChangeKind.ADDED, B),
    ]
    assert list(mirror.broken) == [A]

    (change,) = mirror.clear()
    assert (change.kind, change.key) == (ChangeKind.DELETED, B)
    assert not mirror.broken


def test_event_says_up_to_where_the_watch_has_told() -> None:
    assert seen(ChangeKind.ADDED, read("a", 7)).resource_version == "7"
    assert seen(ChangeKind.ADDED, broken(A, 8)).resource_version == "8"
