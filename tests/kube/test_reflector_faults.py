"""A reflector under each fault of the API server or of the network."""

import dataclasses
import logging
from datetime import timedelta

import pytest

from kube.discovery import KindName
from kube.record import Key
from kube.reflector import ReflectorState
from kube.reflector_settings import Waits
from kube.resource import NODES
from kube.transport import Transport
from tests.kube.objects import PATH, event, failed, listed, widget
from tests.kube.watched import IMPATIENT, reflecting
from tests.support.api.api_server import (
    NOT_SERVED,
    Answer,
    ApiServer,
    LiveWatch,
    lines,
    refused,
    reset,
    said,
    text,
)
from tests.support.api.eventually import eventually
from tests.support.api.slept_time import SleptTime

SILENT = lines(then="silent")
ONE = said(listed(1, widget("a", 1)))


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(reset, id="reset"),
        pytest.param(lines(then="cut"), id="cut"),
        pytest.param(lines(b'{"type":"ADD', then="cut"), id="cut line"),
        pytest.param(lines(b'{"type":"ADD'), id="end in the middle of a line"),
        pytest.param(refused(500, "InternalError"), id="500"),
        pytest.param(refused(503, "ServiceUnavailable"), id="503"),
        pytest.param(refused(504, "Timeout"), id="504"),
        pytest.param(refused(429, "TooManyRequests"), id="429"),
        pytest.param(refused(403, "Forbidden"), id="403"),
    ],
)
async def test_lost_watch_goes_on_from_where_it_was(
    server: ApiServer, transport: Transport, fault: Answer
) -> None:
    server.answer("GET", PATH, ONE)
    server.watch(PATH, fault, lines(event("ADDED", widget("b", 2)), then="silent"))

    async with reflecting(transport) as (reflector, told):
        await eventually(lambda: Key("", "b") in reflector.store)
        assert reflector.problem is None

    assert told.brief() == [("ADDED", "a"), ("ADDED", "b")]
    assert [asked.query["resourceVersion"] for asked in server.watches()] == ["1", "1"]
    assert len(server.lists()) == 1


async def test_refused_token_is_read_anew_and_then_waited_for(
    server: ApiServer, transport: Transport
) -> None:
    unauthorized = refused(401, "Unauthorized")
    server.answer("GET", PATH, ONE)
    server.watch(PATH, unauthorized, unauthorized, SILENT)

    async with reflecting(transport) as (reflector, _):
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)

    assert len(server.watches()) == 3
    assert len(server.lists()) == 1


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(refused(410, "Gone"), id="410"),
        pytest.param(lines(failed(410, "Expired")), id="410 in the stream"),
        pytest.param(lines(failed(500, "InternalError")), id="500 in the stream"),
        pytest.param(lines(b"nonsense\n"), id="line that is no event"),
        pytest.param(refused(400, "BadRequest"), id="resourceVersion refused"),
        pytest.param(refused(404, "NotFound"), id="404 that passes"),
    ],
)
async def test_watch_that_cannot_go_on_lists_again_and_finds_what_vanished(
    server: ApiServer, transport: Transport, fault: Answer
) -> None:
    server.answer("GET", PATH, ONE, said(listed(9, widget("b", 9))))
    server.watch(PATH, fault, SILENT)

    async with reflecting(transport) as (_, told):
        await eventually(lambda: len(told.changes) == 3)
        await eventually(lambda: len(server.watches()) == 2)

    assert told.brief() == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    assert server.watches()[1].query["resourceVersion"] == "9"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(reset, id="reset"),
        pytest.param(lines(b'{"meta', then="cut"), id="cut"),
        pytest.param(text("<html>"), id="somebody else's answer"),
        pytest.param(refused(500, "InternalError"), id="500"),
        pytest.param(refused(429, "TooManyRequests"), id="429"),
        pytest.param(refused(403, "Forbidden"), id="403"),
    ],
)
async def test_list_that_fails_is_repeated(server: ApiServer, transport: Transport, fault: Answer) -> None:
    server.answer("GET", PATH, fault, ONE)
    server.watch(PATH, SILENT)

    async with reflecting(transport) as (reflector, told):
        await reflector.wait_synced()

    assert told.brief() == [("ADDED", "a")]


async def test_server_that_restarts_is_found_again(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, ONE)
    server.watch(PATH, SILENT)

    async with reflecting(transport) as (reflector, told):
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)
        await server.stop()
        await eventually(lambda: reflector.state is ReflectorState.WAITING)
        assert "GET" in str(reflector.problem)
        assert Key("", "a") in reflector.store
        await server.start()
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)

    assert told.brief() == [("ADDED", "a")]


async def test_sight_ages_while_nothing_is_heard(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, ONE)
    server.watch(PATH, refused(503, "ServiceUnavailable"))

    async with reflecting(transport) as (reflector, _):
        await reflector.wait_synced()
        await eventually(lambda: (reflector.age() or timedelta()) > timedelta(milliseconds=200))
        assert len(server.watches()) > 2


async def test_kind_that_is_not_served_is_absent_and_counts_as_complete(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, NOT_SERVED, NOT_SERVED, NOT_SERVED, ONE)
    server.watch(PATH, SILENT)

    async with reflecting(transport) as (reflector, told):
        await reflector.wait_synced()
        assert reflector.state is ReflectorState.ABSENT
        assert not reflector.store
        assert reflector.age() is not None
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)

    assert told.brief() == [("ADDED", "a")]


async def test_kind_whose_path_is_not_known_is_asked_for_until_it_is_served(
    server: ApiServer, transport: Transport
) -> None:
    served = said({"resources": [{"name": "widgets", "kind": "Widget", "namespaced": False}]})
    server.answer("GET", "/apis/example.com/v1", NOT_SERVED, served)
    server.answer("GET", PATH, ONE)
    server.watch(PATH, SILENT)

    async with reflecting(transport, resource=KindName("example.com/v1", "Widget")) as (reflector, told):
        await reflector.wait_synced()
        assert not reflector.is_served
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)
        assert reflector.is_served

    assert told.brief() == [("ADDED", "a")]


async def test_kind_that_comes_and_cannot_be_listed_is_not_taken_for_empty(
    server: ApiServer, transport: Transport
) -> None:
    served = said({"resources": [{"name": "widgets", "kind": "Widget", "namespaced": False}]})
    server.answer("GET", "/apis/example.com/v1", NOT_SERVED, served)
    server.answer("GET", PATH, refused(403, "Forbidden"))

    async with reflecting(transport, resource=KindName("example.com/v1", "Widget")) as (reflector, _):
        await reflector.wait_synced()
        await eventually(lambda: reflector.is_served)
        await eventually(lambda: "Forbidden" in str(reflector.problem))
        assert not reflector.synced


async def test_kind_that_goes_and_comes_back_elsewhere_is_found(
    server: ApiServer, transport: Transport
) -> None:
    def served(plural: str) -> Answer:
        return said({"resources": [{"name": plural, "kind": "Widget", "namespaced": False}]})

    server.answer("GET", "/apis/example.com/v1", served("widgeten"), served("widgets"))
    server.answer("GET", "/apis/example.com/v1/widgeten", NOT_SERVED)
    server.answer("GET", PATH, ONE)
    server.watch(PATH, SILENT)

    async with reflecting(transport, resource=KindName("example.com/v1", "Widget")) as (reflector, told):
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)

    assert told.brief() == [("ADDED", "a")]


async def test_kind_that_goes_empties_the_store(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, ONE, NOT_SERVED)
    server.watch(PATH, NOT_SERVED)

    async with reflecting(transport) as (reflector, told):
        await eventually(lambda: reflector.state is ReflectorState.ABSENT)
        assert not reflector.store

    assert told.brief() == [("ADDED", "a"), ("DELETED", "a")]


async def test_one_answer_404_does_not_empty_the_store(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, ONE, NOT_SERVED, said(listed(9, widget("a", 1))))
    server.watch(PATH, refused(410, "Gone"), SILENT)

    async with reflecting(transport) as (reflector, told):
        await eventually(lambda: len(server.lists()) == 3)
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)

    assert told.brief() == [("ADDED", "a")]


@pytest.mark.parametrize(
    "core",
    [
        pytest.param(NOT_SERVED, id="no core either"),
        pytest.param(text("<html>"), id="somebody else's page"),
        pytest.param(refused(503, "ServiceUnavailable"), id="503"),
    ],
)
@pytest.mark.parametrize("known", [pytest.param(ONE, id="known"), pytest.param(said(listed(1)), id="empty")])
async def test_404_of_something_that_is_no_api_server_proves_nothing(
    server: ApiServer, transport: Transport, core: Answer, known: Answer
) -> None:
    server.version(NODES.path(), core)
    server.answer("GET", PATH, known, NOT_SERVED)
    server.watch(PATH, NOT_SERVED)

    async with reflecting(transport) as (reflector, told):
        await eventually(lambda: len(server.lists()) > 9)
        assert reflector.state is not ReflectorState.ABSENT
        assert (reflector.age() or timedelta()) > timedelta(0)
        age = reflector.age()
        await eventually(lambda: (reflector.age() or timedelta()) > (age or timedelta()))

    assert ("DELETED", "a") not in told.brief()


async def test_retry_after_is_obeyed(
    server: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = SleptTime(monkeypatch, "kube.reflector")
    busy = refused(429, "TooManyRequests", **{"Retry-After": "60"})
    server.answer("GET", PATH, *map(slept.noting, (busy, ONE)))
    server.watch(PATH, SILENT)

    async with reflecting(transport) as (reflector, _):
        await reflector.wait_synced()
    (gap,) = slept.gaps
    assert gap >= 60


async def test_missing_role_is_logged_once_and_so_is_its_end(
    server: ApiServer, transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kube")
    forbidden = refused(403, "Forbidden")
    server.answer("GET", PATH, forbidden, forbidden, forbidden, ONE)
    server.watch(PATH, SILENT)

    async with reflecting(transport) as (reflector, _):
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)

    assert [record.getMessage() for record in caplog.records] == [
        f"Not watching widgets.example.com: GET {PATH} was answered 403 Forbidden: said Forbidden",
        "Watching widgets.example.com again.",
    ]


async def test_watches_that_end_at_once_are_waited_for_like_failures(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, ONE)
    server.watch(PATH, lines())
    slow = dataclasses.replace(
        IMPATIENT,
        steady=timedelta(seconds=10),
        waits=Waits(first=timedelta(hours=1), longest=timedelta(hours=1)),
    )

    async with reflecting(transport, slow) as (reflector, _):
        await eventually(lambda: reflector.state is ReflectorState.WAITING)

    assert len(server.watches()) == 1


async def test_problem_is_over_when_only_the_version_of_the_watch_is_too_old(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, ONE)
    busy = refused(503, "ServiceUnavailable", **{"Retry-After": "1"})
    server.watch(PATH, busy, refused(410, "Expired"))

    async with reflecting(transport) as (reflector, _):
        await eventually(lambda: "503" in str(reflector.problem))
        await eventually(lambda: reflector.problem is None)


async def test_event_after_a_fault_is_not_lost(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, ONE)
    watch = LiveWatch()
    server.watch(PATH, lines(event("ADDED", widget("b", 2)), then="cut"), watch)

    async with reflecting(transport) as (reflector, told):
        watch.send(event("ADDED", widget("c", 3)))
        await eventually(lambda: Key("", "c") in reflector.store)

    assert told.brief() == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert server.watches()[1].query["resourceVersion"] == "2"
