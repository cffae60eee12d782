"""As of when a cache is true: consistent reads prove beside a watch that it is fresh."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from kube.consistent_read import ConsistentReads, Freshness, has_reached, is_earlier
from kube.record import Key
from kube.reflector import Reflector, ReflectorState
from kube.reflector_settings import Watching
from kube.transport import Transport
from tests.kube.objects import PATH, Widget, bookmark, event, listed, widget
from tests.kube.watched import IMPATIENT, Told, reflecting
from tests.support.api.api_server import Answer, ApiServer, LiveWatch, hanging, refused, said
from tests.support.api.eventually import eventually


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def freshness(clock: Clock) -> Freshness:
    made = Freshness(clock)
    made.listed("7", 100.0)
    return made


def test_there_is_no_age_before_the_first_list(clock: Clock) -> None:
    assert Freshness(clock).age() is None


def test_list_is_as_old_as_its_first_page(freshness: Freshness, clock: Clock) -> None:
    clock.seconds += 10
    freshness.listed("8", 103.0)
    assert freshness.age() == timedelta(seconds=7)


def test_read_proves_nothing_before_its_version_was_reported(freshness: Freshness, clock: Clock) -> None:
    clock.seconds += 20
    freshness.read("9", 118.0)
    freshness.reached("8")
    assert freshness.age() == timedelta(seconds=20)

    freshness.reached("9")
    assert freshness.age() == timedelta(seconds=2)


def test_read_of_a_reported_object_proves_at_once(freshness: Freshness, clock: Clock) -> None:
    clock.seconds += 20
    freshness.read("7", 118.0)
    assert freshness.age() == timedelta(seconds=2)


@pytest.mark.rule("rule 3")
def test_change_without_a_read_proves_nothing(freshness: Freshness, clock: Clock) -> None:
    for version in ("7", "7", "8", "9"):
        clock.seconds += 10
        freshness.reached(version)
    assert freshness.age() == timedelta(seconds=40)


def test_stream_that_lags_proves_the_earlier_reads(freshness: Freshness, clock: Clock) -> None:
    for version, sent in (("10", 110.0), ("20", 120.0), ("30", 130.0)):
        clock.seconds = sent + 1
        freshness.read(version, sent)
    freshness.reached("25")
    assert freshness.as_of == 120.0
    assert freshness.is_behind


def test_cache_was_behind_where_a_read_was_answered_before(freshness: Freshness, clock: Clock) -> None:
    assert not freshness.was_behind(1000.0)
    clock.seconds = 110.0
    freshness.read("9", 105.0)
    assert freshness.was_behind(110.0)
    assert not freshness.was_behind(109.0)
    freshness.listed("9", 112.0)
    assert not freshness.is_behind


VERSIONS = st.integers(min_value=0, max_value=50)
HAPPENED = st.lists(st.tuples(st.sampled_from(("write", "read", "tell", "list")), VERSIONS), max_size=60)


@given(HAPPENED)
def test_cache_is_never_reported_as_younger_than_it_is(happened: list[tuple[str, int]]) -> None:
    """Beside a store, and streams that tell its versions in order, however late."""
    clock = Clock()
    freshness = Freshness(clock)
    store, told = 1, 1
    true_as_of = {1: clock.seconds}  # by version: the last moment at which the store was at it
    freshness.listed("1", clock.seconds)
    for what, number in happened:
        clock.seconds += 1
        if what == "write":
            store += number
        elif what == "read":
            freshness.read(str(store), clock.seconds)
        elif what == "tell":
            told = min(store, told + number)
            freshness.reached(str(told))
        else:
            told = store
            freshness.listed(str(store), clock.seconds)
        true_as_of[store] = clock.seconds
        as_of = freshness.as_of
        assert as_of is not None
        assert as_of <= max(moment for version, moment in true_as_of.items() if version <= told)


@pytest.mark.parametrize(
    ("position", "version", "reached", "earlier"),
    [
        ("9", "10", False, False),
        ("10", "10", True, False),
        ("11", "10", True, True),
        ("a", "a", True, False),
        ("b", "a", False, False),
        ("10", "a", False, False),
        ("", "1", False, False),
    ],
)
def test_versions_are_compared_as_numbers(
    position: str, version: str, *, reached: bool, earlier: bool
) -> None:
    assert has_reached(position, version) is reached
    assert is_earlier(version, position) is earlier


OLD = timedelta(milliseconds=300)
OFTEN = dataclasses.replace(IMPATIENT, watching=Watching(proof_every=timedelta(milliseconds=100)))
EMPTY = said(listed(7))


def at(version: int) -> Answer:
    return said({"metadata": {"resourceVersion": str(version)}, "items": []})


def is_old(reflector: Reflector[Widget]) -> bool:
    return (reflector.age() or timedelta()) > OLD


@asynccontextmanager
async def watching(
    server: ApiServer, transport: Transport, *reads: Answer
) -> AsyncIterator[tuple[Reflector[Widget], Told, LiveWatch]]:
    """A reflector of a kind that was listed at 7, whose reads are answered so, and a watch of it."""
    server.answer("GET", PATH, EMPTY)
    server.version(PATH, *reads)
    watch = LiveWatch()
    server.watch(PATH, watch)
    async with reflecting(transport, OFTEN) as (reflector, told):
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)
        yield reflector, told, watch


@pytest.mark.rule("rule 3")
async def test_watch_that_is_accepted_proves_nothing(server: ApiServer, transport: Transport) -> None:
    async with watching(server, transport, hanging) as (reflector, _, watch):
        await eventually(lambda: is_old(reflector))
        watch.end()
        await eventually(lambda: len(server.watches()) == 2)
        assert is_old(reflector)


@pytest.mark.rule("rule 3")
async def test_bookmarks_and_events_prove_nothing_without_a_read(
    server: ApiServer, transport: Transport
) -> None:
    async with watching(server, transport, hanging) as (reflector, _, watch):
        for told in (bookmark(7), bookmark(8), event("ADDED", widget("a", 9))):
            watch.send(told)
        await eventually(lambda: Key("", "a") in reflector.store)
        await eventually(lambda: is_old(reflector))


async def test_quiet_kind_is_proven_fresh_by_reads_of_the_version_that_it_is_at(
    server: ApiServer, transport: Transport
) -> None:
    async with watching(server, transport, at(7)) as (reflector, _, _watch):
        await eventually(lambda: len([call for call in server.asked if call.query.get("limit") == "1"]) > 4)
        assert not is_old(reflector)
        assert len(server.watches()) == 1


@pytest.mark.parametrize(
    "told",
    [pytest.param(bookmark(9), id="bookmark"), pytest.param(event("ADDED", widget("a", 9)), id="event")],
)
async def test_read_of_a_later_version_is_a_proof_when_the_watch_tells_of_it(
    server: ApiServer, transport: Transport, told: object
) -> None:
    async with watching(server, transport, at(9)) as (reflector, _, watch):
        await eventually(lambda: is_old(reflector))
        watch.send(bookmark(8))
        assert is_old(reflector)
        watch.send(told)
        await eventually(lambda: not is_old(reflector))


async def test_read_is_due_earlier_as_soon_as_proof_is_needed_more_often(transport: Transport) -> None:
    freshness, every = Freshness(lambda: 0.0), timedelta(seconds=18)
    freshness.listed("7", 0.0)
    reads = ConsistentReads(transport, freshness, lambda: every, lambda: 0.0)
    assert reads.until_due == every

    every = timedelta(seconds=2)
    assert reads.until_due == every


async def test_age_counts_from_when_the_read_was_sent(server: ApiServer, transport: Transport) -> None:
    late: list[web.Request] = []

    async def never_twice(request: web.Request) -> web.StreamResponse:
        late.append(request)
        if len(late) > 1:
            return await hanging(request)
        await eventually(lambda: (seen.age() or timedelta()) > 3 * OLD)
        return await at(7)(request)

    async with watching(server, transport, never_twice) as (reflector, _, _watch):
        seen = reflector
        await eventually(lambda: len(late) == 2)
        assert is_old(reflector)  # by what was answered just now


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(refused(503, "ServiceUnavailable"), "503", id="503"),
        pytest.param(refused(504, "Timeout"), "504", id="504"),
        pytest.param(refused(403, "Forbidden"), "403", id="403"),
    ],
)
async def test_watch_whose_reads_fail_is_opened_no_more_and_says_why(
    server: ApiServer, transport: Transport, answer: Answer, words: str
) -> None:
    async with watching(server, transport, answer) as (reflector, _, watch):
        await eventually(lambda: is_old(reflector))
        watch.end()
        await eventually(lambda: words in str(reflector.problem))
        assert reflector.state is ReflectorState.WAITING
        assert is_old(reflector)


async def test_read_that_failed_is_tried_again_while_the_watch_goes_on(
    server: ApiServer, transport: Transport
) -> None:
    was_old: list[bool] = []

    async def refused_until_it_is_old(request: web.Request) -> web.StreamResponse:
        return await (at(7) if was_old else refused(503, "ServiceUnavailable"))(request)

    async with watching(server, transport, refused_until_it_is_old) as (reflector, _, _watch):
        await eventually(lambda: is_old(reflector))
        was_old.append(True)
        await eventually(lambda: not is_old(reflector))
        assert reflector.problem is None
        assert len(server.watches()) == 1


async def test_server_that_is_at_an_earlier_version_is_listed_anew(
    server: ApiServer, transport: Transport
) -> None:
    async with watching(server, transport, at(5)) as (_, _told, watch):
        await eventually(lambda: any(call.query.get("limit") == "1" for call in server.asked))
        watch.end()
        await eventually(lambda: len(server.lists()) == 2)


async def test_watch_whose_last_bookmark_lags_behind_an_earlier_read_leads_to_a_list(
    server: ApiServer, transport: Transport
) -> None:
    """As where several API servers are asked, and that of the watch is behind."""
    clock, watch = Clock(), LiveWatch()
    server.answer("GET", PATH, EMPTY, said(listed(9, widget("a", 9))))
    server.version(PATH, at(9))
    server.watch(PATH, refused(503, "ServiceUnavailable"), watch)
    async with reflecting(transport, clock=clock) as (reflector, told):
        await eventually(lambda: reflector.state is ReflectorState.WATCHING)
        watch.send(bookmark(8))
        clock.seconds += 30
        watch.end()
        await eventually(lambda: told.brief() == [("ADDED", "a")])
        assert reflector.age() == timedelta(0)
