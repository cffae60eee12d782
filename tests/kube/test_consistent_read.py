"""Consistent reads prove beside a watch that the cache is fresh, and a stale cache is listed again."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import web

from kube.consistent_read import ConsistentReads, Freshness
from kube.record import Key
from kube.reflector import Reflector, ReflectorState
from kube.reflector_settings import Watching
from kube.transport import Transport
from tests.kube.objects import PATH, Widget, bookmark, event, listed, widget
from tests.kube.watched import IMPATIENT, Told, reflecting
from tests.support.api.api_server import Answer, ApiServer, LiveWatch, hanging, refused, said
from tests.support.api.eventually import eventually

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


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds
