"""A reflector on a healthy API server."""

import dataclasses
from datetime import timedelta

import pytest

from kube.record import Key
from kube.reflector import ReflectorState
from kube.reflector_settings import SHORTEST_LIMIT
from kube.transport import Transport
from tests.kube.objects import PATH, bookmark, event, listed, widget
from tests.kube.watched import IMPATIENT, reflecting, with_silence
from tests.support.api.api_server import ApiServer, LiveWatch, lines, refused, said
from tests.support.api.eventually import eventually

SILENT = lines(then="silent")


async def test_list_fills_the_store_page_by_page(server: ApiServer, transport: Transport) -> None:
    server.answer(
        "GET",
        PATH,
        said(listed(7, widget("a", 1), widget("b", 2), token="more")),
        said(listed(7, widget("c", 3))),
    )
    server.watch(PATH, SILENT)

    async with reflecting(transport, label_selector="x=y") as (reflector, told):
        assert reflector.age() is None
        assert not reflector.synced
        await reflector.wait_synced()
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)

        assert [key.name for key in reflector.store] == ["a", "b", "c"]
        assert told.brief() == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
        assert [asked.query for asked in server.lists()] == [
            {"limit": "2", "labelSelector": "x=y"},
            {"limit": "500", "labelSelector": "x=y", "continue": "more"},
        ]
        age = reflector.age()
        assert age is not None
        assert age < timedelta(seconds=5)
        assert reflector.problem is None


async def test_watch_goes_on_from_the_list_and_asks_for_bookmarks(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(7)))
    server.watch(PATH, SILENT)

    async with reflecting(transport, label_selector="x=y"):
        await eventually(server.watches)

    query = server.watches()[0].query
    assert query.pop("timeoutSeconds") == "22"  # four seconds after the next consistent read
    assert query == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "labelSelector": "x=y",
    }


async def test_store_never_holds_half_of_a_list(server: ApiServer, transport: Transport) -> None:
    server.answer(
        "GET",
        PATH,
        said(listed(7, widget("a", 1), token="more")),
        refused(410, "Expired"),
        said(listed(9, widget("b", 8))),
    )
    server.watch(PATH, SILENT)

    async with reflecting(transport) as (reflector, told):
        await reflector.wait_synced()
        assert told.brief() == [("ADDED", "b")]


async def test_events_follow_in_order(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, said(listed(1)))
    watch = LiveWatch()
    server.watch(PATH, watch)

    async with reflecting(transport) as (reflector, told):
        watch.send(event("ADDED", widget("a", 2)))
        watch.send(event("MODIFIED", widget("a", 3, size=5)))
        watch.send(event("ADDED", widget("b", 4)))
        watch.send(event("DELETED", widget("a", 5, size=5)))
        await eventually(lambda: len(told.changes) == 4)

        assert told.brief() == [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
        assert list(reflector.store) == [Key("", "b")]


async def test_heartbeats_notify_no_handler(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, said(listed(1, widget("a", 1))))
    watch = LiveWatch()
    server.watch(PATH, watch)

    async with reflecting(transport) as (reflector, told):
        watch.send(event("MODIFIED", widget("a", 2, heartbeat=1)))
        watch.send(event("MODIFIED", widget("a", 3, heartbeat=2)))
        watch.send(event("ADDED", widget("last", 4)))
        await eventually(lambda: Key("", "last") in reflector.store)

        assert told.brief() == [("ADDED", "a"), ("ADDED", "last")]
        assert reflector.store[Key("", "a")].metadata.resource_version == "3"


async def test_watch_that_ends_well_goes_on_from_the_last_event(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(1)))
    server.watch(PATH, lines(event("ADDED", widget("a", 5))), lines(bookmark(8)), SILENT)

    async with reflecting(transport):
        await eventually(lambda: len(server.watches()) == 3)

    assert [asked.query["resourceVersion"] for asked in server.watches()] == ["1", "5", "8"]
    assert len(server.lists()) == 1


async def test_watch_that_does_not_end_in_time_is_opened_again_without_a_list(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(1)))
    server.watch(PATH, SILENT)

    async with reflecting(transport, with_silence(timedelta(milliseconds=50))):
        await eventually(lambda: len(server.watches()) == 3)

    assert len(server.lists()) == 1


async def test_list_is_repeated_when_it_is_due_and_what_vanished_is_noticed(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(1, widget("a", 1))), said(listed(9, widget("b", 9))))
    server.watch(PATH, lines(bookmark(2)), SILENT)
    often = dataclasses.replace(IMPATIENT, relist=(timedelta(0), timedelta(0)))

    async with reflecting(transport, often) as (_, told):
        await eventually(lambda: len(server.lists()) == 2)
        await eventually(lambda: len(told.changes) == 3)

    assert told.brief() == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]


async def test_object_that_does_not_decode_is_left_out_and_told_once_a_version(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(1, widget("good", 1), widget("bad", 1, size="big"))))
    watch = LiveWatch()
    server.watch(PATH, watch)

    async with reflecting(transport) as (reflector, told):
        await reflector.wait_synced()
        watch.send(event("MODIFIED", widget("bad", 1, size="big")))
        watch.send(event("MODIFIED", widget("bad", 2, size="huge")))
        watch.send(event("ADDED", widget("last", 3)))
        await eventually(lambda: Key("", "last") in reflector.store)

        assert [key.name for key in reflector.store] == ["good", "last"]
        assert [name for name, _ in told.undecodable] == ["bad", "bad"]
        assert list(reflector.undecodable) == [Key("", "bad")]

        watch.send(event("MODIFIED", widget("bad", 4, size=1)))
        await eventually(lambda: told.brief()[-1] == ("ADDED", "bad"))
        assert not reflector.undecodable
        assert told.resolved == [("bad", len(told.changes))]


async def test_object_that_becomes_unreadable_leaves_the_store(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(1, widget("a", 1))))
    watch = LiveWatch()
    server.watch(PATH, watch)

    async with reflecting(transport) as (reflector, told):
        watch.send(event("MODIFIED", widget("a", 2, size="big")))
        await eventually(lambda: told.brief() == [("ADDED", "a"), ("DELETED", "a")])
        assert Key("", "a") in reflector.undecodable

        watch.send(event("DELETED", widget("a", 3, size="big")))
        await eventually(lambda: not reflector.undecodable)


@pytest.mark.rule("rule 4")
async def test_shorter_limit_is_proven_within_it_though_the_watch_was_opened_by_a_longer_one(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(7)))
    server.watch(PATH, SILENT)
    settings = IMPATIENT

    async with reflecting(transport, lambda: settings) as (reflector, _):
        await eventually(server.watches)
        settings = IMPATIENT.proving_life_within(SHORTEST_LIMIT)
        await eventually(lambda: len(server.watches()) > 1)
        await eventually(server.reads, within_seconds=SHORTEST_LIMIT.total_seconds())
        age = reflector.age()
        assert reflector.problem is None

    first, second = (int(asked.query["timeoutSeconds"]) for asked in server.watches()[:2])
    assert age is not None
    assert age + timedelta(seconds=second) < SHORTEST_LIMIT < timedelta(seconds=first)
