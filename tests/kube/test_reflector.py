"""A reflector on a healthy API server: its name, its store, and the version in which it reads a kind."""

import dataclasses
from datetime import timedelta

import pytest

from kube.discovery import KindName
from kube.record import Key
from kube.reflector import Reflector, ReflectorState
from kube.reflector_settings import SHORTEST_LIMIT
from kube.resource import LEASES, NODES, Resource
from kube.transport import Transport
from objects.group_kind import ServedKind
from tests.kube.objects import PATH, Widget, bookmark, event, listed, widget
from tests.kube.watched import IMPATIENT, reflecting, with_silence
from tests.support.api.api_server import CORE, NOT_SERVED, ApiServer, LiveWatch, lines, refused, said
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

    async with reflecting(transport, label_selector="x=y", clock=lambda: 100.0) as (reflector, told):
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
        assert reflector.age() == timedelta(0)
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
        await eventually(server.reads)
        assert reflector.problem is None

    first, second = (int(asked.query["timeoutSeconds"]) for asked in server.watches()[:2])
    assert timedelta(seconds=second) < SHORTEST_LIMIT < timedelta(seconds=first)


def test_watch_of_one_object_is_named_by_it(transport: Transport) -> None:
    reflector = Reflector(transport, NODES, Widget, name="a", notify=lambda _: None)
    assert reflector.name == "nodes with metadata.name=a"


@pytest.mark.parametrize(
    ("resource", "namespace", "selector", "name"),
    [
        (NODES, "", None, "nodes"),
        (LEASES, "", None, "leases.coordination.k8s.io"),
        (LEASES, "medik8s-leases", None, "leases.coordination.k8s.io in medik8s-leases"),
        (NODES, "", "role=worker", "nodes with role=worker"),
        (KindName("example.com/v1", "Widget"), "", None, "Widget (example.com/v1)"),
    ],
)
async def test_watch_is_named_by_resource_group_and_namespace(
    transport: Transport, resource: Resource | KindName, namespace: str, selector: str | None, name: str
) -> None:
    reflector = Reflector(
        transport,
        resource,
        Widget,
        namespace=namespace,
        label_selector=selector,
        notify=lambda _: None,
    )
    assert reflector.name == name


BOTH = ServedKind(
    group="example.com", kind="Widget", plural="widgets", versions=("v2", "v1"), is_namespaced=False
)
OLD, NEW = "/apis/example.com/v1", "/apis/example.com/v2"
NEW_PATH = f"{NEW}/widgets"
SERVED = said({"resources": [{"name": "widgets", "kind": "Widget", "namespaced": False}]})
IN_OLD, IN_NEW = said(listed(1, widget("a", 1))), said(listed(1, widget("a", 1, size=2)))


async def test_version_that_is_liked_better_is_read_once_it_is_served(
    server: ApiServer, transport: Transport
) -> None:
    watch = LiveWatch()
    server.answer("GET", OLD, SERVED)
    server.answer("GET", NEW, NOT_SERVED, NOT_SERVED, SERVED)
    server.answer("GET", PATH, IN_OLD)
    server.watch(PATH, lines(), watch)
    server.answer("GET", NEW_PATH, IN_NEW)
    server.watch(NEW_PATH, SILENT)

    async with reflecting(transport, resource=BOTH) as (reflector, told):
        await eventually(lambda: len(server.watches()) == 2)
        assert reflector.store[Key("", "a")].spec.size == 1
        watch.end()
        await eventually(lambda: len(server.watches()) == 3)

        assert reflector.store[Key("", "a")].spec.size == 2
        assert told.brief() == [("ADDED", "a"), ("MODIFIED", "a")]
    assert [asked.path for asked in server.lists()] == [PATH, NEW_PATH]


async def test_one_that_is_read_in_the_version_liked_best_is_looked_for_nowhere_else(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", NEW, SERVED)
    server.answer("GET", NEW_PATH, IN_NEW)
    server.watch(NEW_PATH, lines(), lines(), SILENT)

    async with reflecting(transport, resource=BOTH):
        await eventually(lambda: len(server.watches()) == 3)

    assert sum(asked.path == NEW for asked in server.asked) == 1


async def test_version_that_ceases_to_be_served_is_left_for_the_other_and_nothing_goes_meanwhile(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", "/api/v1", CORE)
    server.answer("GET", NEW, SERVED, NOT_SERVED)
    server.answer("GET", OLD, SERVED)
    server.answer("GET", NEW_PATH, IN_NEW, NOT_SERVED)
    server.watch(NEW_PATH, NOT_SERVED)
    server.answer("GET", PATH, IN_OLD)
    server.watch(PATH, SILENT)

    async with reflecting(transport, resource=BOTH) as (reflector, told):
        await eventually(lambda: server.watches() and server.watches()[-1].path == PATH)

        assert reflector.store[Key("", "a")].spec.size == 1
        assert told.brief() == [("ADDED", "a"), ("MODIFIED", "a")]
