"""A fault that never ends makes no hot loop: with production's waits, at most one request a second.

Time is the test's: waits of the reflector move its clock, and requests take none. This is the worst case,
because a real request takes time. The log of the server has the virtual time of each request.
"""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Protocol

import pytest
from aiohttp import web

from kube.reflector import Reflector
from kube.resource import NODES
from kube.transport import Transport
from tests.kube.faults.faults import reset_at_once
from tests.kube.objects import PATH, WIDGETS, Widget, bookmark, event, failed, listed, widget
from tests.support.api.api_server import FAR_AHEAD, NOT_SERVED, Answer, ApiServer, lines, refused, said, text

LASTING_SECONDS = 120.0
WINDOW_SECONDS = 30.0
LIST = said(listed(1, widget("a", 1)))
BUSY = refused(429, "TooManyRequests", **{"Retry-After": "1"})
HALF_A_LINE = b'{"type":"ADDED","object":{"meta'


class Virtual:
    """Time that passes when it is slept away."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.is_over = asyncio.Event()
        self.log: list[float] = []

    def clock(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)
        await asyncio.sleep(0)

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        if self.seconds > LASTING_SECONDS:
            self.is_over.set()

    def logged(self, answer: Answer) -> Answer:
        async def log(request: web.Request) -> web.StreamResponse:
            self.log.append(self.seconds)
            if len(self.log) > LASTING_SECONDS:
                self.is_over.set()  # a loop so hot that time stands still
            return await answer(request)

        return log

    def busiest(self) -> int:
        return max(sum(begin <= moment < begin + WINDOW_SECONDS for moment in self.log) for begin in self.log)


class Lasting(Protocol):
    def __call__(self, time: Virtual) -> Answer:
        """The answer, which takes `time` when it is given."""


def lasting(seconds: float, answer: Answer) -> Lasting:
    def made(time: Virtual) -> Answer:
        async def answer_late(request: web.Request) -> web.StreamResponse:
            time.pass_time(seconds)
            return await answer(request)

        return answer_late

    return made


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Virtual:
    virtual = Virtual()
    monkeypatch.setattr("kube.reflector.asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": virtual.sleep}))
    return virtual


WATCH_FAULTS = {
    "in-stream 410": lines(failed(410, "Expired")),
    "HTTP 410": refused(410, "Expired"),
    "429 with Retry-After": BUSY,
    "429": refused(429, "TooManyRequests"),
    "503": refused(503, "ServiceUnavailable"),
    "in-stream ERROR 500": lines(failed(500, "InternalError")),
    "RST": reset_at_once,
    "line cut in the middle": lines(HALF_A_LINE, then="cut"),
    "clean end": lines(),
    "clean end after a bookmark": lines(bookmark(2)),
    "clean end after an event": lines(event("ADDED", widget("b", 2))),
    "401": refused(401, "Unauthorized"),
    "403": refused(403, "Forbidden"),
    "404": NOT_SERVED,
    "malformed line": lines(b"nonsense\n"),
}
LIST_FAULTS = {
    "429 with Retry-After": BUSY,
    "503": refused(503, "ServiceUnavailable"),
    "RST": reset_at_once,
    "cut": lines(HALF_A_LINE, then="cut"),
    "401": refused(401, "Unauthorized"),
    "403": refused(403, "Forbidden"),
    "404": NOT_SERVED,
    "410": refused(410, "Expired"),
    "somebody else's answer": text("<html>"),
}
WATCHES = [pytest.param(LIST, lasting(0, fault), id=f"watch: {name}") for name, fault in WATCH_FAULTS.items()]
LISTS = [pytest.param(fault, lasting(0, lines()), id=f"list: {name}") for name, fault in LIST_FAULTS.items()]
SLOW = [
    pytest.param(LIST, lasting(seconds, fault), id=f"watch of {seconds} s: {name}")
    for name, fault in WATCH_FAULTS.items()
    for seconds in (1, 9.9, 10)
]


@pytest.mark.parametrize(("list_answer", "watch_answer"), WATCHES + LISTS + SLOW)
async def test_fault_that_never_ends_makes_at_most_a_request_a_second(
    server: ApiServer, transport: Transport, time: Virtual, list_answer: Answer, watch_answer: Lasting
) -> None:
    server.version(NODES.path(), time.logged(FAR_AHEAD))
    server.version(PATH, time.logged(FAR_AHEAD))
    server.answer("GET", PATH, time.logged(list_answer))
    server.watch(PATH, time.logged(watch_answer(time)))
    await _follow(transport, time)
    assert time.busiest() <= WINDOW_SECONDS
    assert len(time.log) > LASTING_SECONDS / 60, "it has to try again"


async def test_refused_connections_are_tried_at_most_once_a_second(
    server: ApiServer, transport: Transport, time: Virtual, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.stop()
    monkeypatch.setattr(transport, "request", _noted(time, transport.request))
    await _follow(transport, time)
    assert time.busiest() <= WINDOW_SECONDS
    assert len(time.log) > LASTING_SECONDS / 60


async def _follow(transport: Transport, time: Virtual) -> None:
    reflector = Reflector(transport, WIDGETS, Widget, notify=lambda _: None, clock=time.clock)
    running = asyncio.create_task(reflector.run())
    over = asyncio.create_task(time.is_over.wait())
    await asyncio.wait((running, over), return_when=asyncio.FIRST_COMPLETED)
    assert over.done(), running.exception()
    running.cancel()
    await asyncio.wait((running,))


def _noted(time: Virtual, request: Callable[..., Awaitable[bytes]]) -> Callable[..., Awaitable[bytes]]:
    async def note(*arguments: object, **options: object) -> bytes:
        time.log.append(time.seconds)
        return await request(*arguments, **options)

    return note
