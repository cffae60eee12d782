"""The objects of one source take a bounded memory, also those that a watch adds.

The bound is that of the container or of the machine.
"""

import os
from pathlib import Path

import pytest

from kube import answer_bounds
from kube.answer_bounds import MIB, MOST_KEPT, MOST_OBJECTS, CacheRoom, memory_limit, memory_of, most_kept_by
from kube.decoding import ObjectEvent, Undecodable
from kube.errors import Malformed
from kube.object_store import ObjectStore
from kube.record import ChangeKind, Key
from kube.transport import Transport
from tests.kube.objects import PATH, Widget, event, listed, widget
from tests.kube.watched import reflecting
from tests.support.api.api_server import ApiServer, lines, said
from tests.support.api.eventually import eventually


def store(**room: int) -> ObjectStore[Widget]:
    return ObjectStore("widgets", None, room=CacheRoom(**room))


def labelled(name: str, length: int) -> Widget:
    body = widget(name, 1)
    return Widget.model_validate({**body, "metadata": {**body["metadata"], "labels": {"a": "b" * length}}})


def added(found: Widget | Undecodable) -> ObjectEvent[Widget]:
    return ObjectEvent(ChangeKind.ADDED, found)


def undecodable(name: str) -> Undecodable:
    return Undecodable(Key("", name), "1", "wrong")


def test_watch_adds_records_up_to_the_bound_of_their_memory() -> None:
    widgets = store(kept=4 * MIB)
    for number in range(3):
        widgets.apply(added(labelled(f"w-{number}", MIB)))

    with pytest.raises(Malformed, match=r"^The cache of widgets has over 4194304 bytes of records\.$"):
        widgets.apply(added(labelled("w-3", MIB)))
    assert [key.name for key in widgets.records] == ["w-0", "w-1", "w-2"]


def test_record_that_grows_is_counted_by_its_new_size() -> None:
    widgets, small = store(kept=4 * MIB), labelled("a", 1)
    widgets.apply(added(small))
    for length in (MIB, 2 * MIB, 3 * MIB):
        widgets.apply(added(labelled("a", length)))
    with pytest.raises(Malformed):
        widgets.apply(added(labelled("a", 5 * MIB)))
    assert len(widgets.records[Key("", "a")].metadata.labels["a"]) == 3 * MIB


@pytest.mark.parametrize("end", ["DELETED", "undecodable"])
def test_object_that_goes_leaves_room_for_others(end: str) -> None:
    widgets = store(objects=2, kept=3 * MIB)
    for number in range(100):
        widget_now = labelled(f"w-{number}", MIB)
        widgets.apply(added(widget_now))
        if end == "DELETED":
            widgets.apply(ObjectEvent(ChangeKind.DELETED, widget_now))
        else:
            widgets.apply(added(undecodable(f"w-{number}")))
    assert not widgets.records


def test_watch_adds_objects_up_to_the_bound_of_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_bounds, "MOST_UNDECODABLE", 2)
    widgets = store(objects=2)
    for name in ("a", "b", "a"):
        widgets.apply(added(labelled(name, 1)))
        widgets.apply(added(undecodable(f"not-{name}")))

    with pytest.raises(Malformed, match=r"^The cache of widgets has over 2 objects\.$"):
        widgets.apply(added(labelled("c", 1)))
    with pytest.raises(Malformed, match=r"^The cache of widgets has over 2 objects that do not decode\.$"):
        widgets.apply(added(undecodable("not-c")))
    assert [key.name for key in widgets.records] == ["a", "b"]
    assert [key.name for key in widgets.undecodable] == ["not-a", "not-b"]


def test_memory_counts_the_texts_of_a_record() -> None:
    body = widget("a", 1)
    metadata = {**body["metadata"], "labels": {f"{number:05}": "" for number in range(10_000)}}
    many = Widget.model_validate({**body, "metadata": metadata})

    assert memory_of(labelled("a", MIB)) - memory_of(labelled("a", 0)) == MIB
    assert memory_of(many) > 10_000 * 64


@pytest.mark.parametrize("bound", ["objects", "MOST_UNDECODABLE"])
async def test_source_that_a_watch_makes_too_large_is_a_problem_and_stays_at_its_version(
    server: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    if bound == "objects":
        monkeypatch.setattr(transport, "room", CacheRoom(objects=2))
    else:
        monkeypatch.setattr(answer_bounds, bound, 2)
    size = "big" if bound == "MOST_UNDECODABLE" else 1
    items = [widget(f"w-{number}", number, size=size) for number in range(1, 4)]
    server.answer("GET", PATH, said(listed(2, *items[:2])), said(listed(3, *items)))
    server.watch(PATH, lines(event("ADDED", items[2]), then="silent"))

    async with reflecting(transport) as (reflector, _):
        await eventually(lambda: len(server.lists()) >= 3)
        assert "has over 2 objects" in str(reflector.problem)
        assert len({*reflector.store, *reflector.undecodable}) == 2
        assert len(server.watches()) == 1
        assert reflector._freshness.position == "2"  # noqa: SLF001  a later one would prove an age without the object


def test_fullness_is_the_larger_part_of_memory_and_number_and_one_after_a_list_that_did_not_fit() -> None:
    room = CacheRoom(objects=10, kept=4 * MIB)
    widgets: ObjectStore[Widget] = ObjectStore("widgets", None, room=room)
    assert room.fullness == {"widgets": 0}
    for number in range(3):
        widgets.apply(added(labelled(f"w-{number}", 1)))
    assert room.fullness == {"widgets": 0.3}
    widgets.apply(added(labelled("w-0", 3 * MIB)))
    assert room.fullness["widgets"] == pytest.approx(0.75, rel=0.01)
    widgets.note_overflow()
    assert room.fullness == {"widgets": 1}
    widgets.clear()
    assert room.fullness == {"widgets": 0}


def test_fuller_of_two_caches_of_one_name_counts() -> None:
    room = CacheRoom(objects=2)
    full: ObjectStore[Widget] = ObjectStore("widgets", None, room=room)
    full.note_overflow()
    empty: ObjectStore[Widget] = ObjectStore("widgets", None, room=room)
    assert room.fullness == {"widgets": 1}
    full.clear()
    empty.note_overflow()
    assert room.fullness == {"widgets": 1}


async def test_cache_whose_list_does_not_fit_is_full(
    server: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "room", CacheRoom(objects=2))
    server.answer("GET", PATH, said(listed(1, *(widget(f"w-{number}", 1) for number in range(3)))))
    async with reflecting(transport) as (reflector, _):
        await eventually(lambda: "has over 2 objects" in str(reflector.problem))
        assert transport.room.fullness == {reflector.name: 1}


MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("texts", "limit"),
    [
        ([], MACHINE),
        (["max"], MACHINE),
        (["536870912"], 512 * MIB),
        (["536870912\n", "9223372036854771712"], 512 * MIB),
        (["9223372036854771712"], MACHINE),
        (["", "1073741824"], 1024 * MIB),
    ],
)
def test_limit_is_that_of_the_container_or_of_the_machine(
    tmp_path: Path, texts: list[str], limit: int
) -> None:
    files = [tmp_path / str(number) for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    assert memory_limit([*files, tmp_path / "missing"]) == limit


@pytest.mark.parametrize(("limit", "kept"), [(1, MOST_KEPT), (512 * MIB, 128 * MIB), (2048 * MIB, 512 * MIB)])
def test_a_cache_has_a_quarter_of_it_and_never_less_than_that_of_a_workload_cluster(
    limit: int, kept: int
) -> None:
    assert most_kept_by(limit) == kept


def test_100_000_nodes_fit_into_a_gibibyte_and_no_bound_is_lower_than_for_a_workload_cluster() -> None:
    room, least = CacheRoom.of(most_kept_by(1024 * MIB)), CacheRoom()
    assert room.objects >= 100_000
    assert room.received >= 100_000 * 50_000
    for bound in ("objects", "received", "pages", "listed"):
        assert getattr(room, bound) >= getattr(least, bound)
    assert least.objects == MOST_OBJECTS
