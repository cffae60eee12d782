"""The faults of the scripted cluster, each as a context: it strikes on entry, and on exit it is over."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise

from aiohttp import web

from tests.kube.faults.config_maps import body
from tests.kube.faults.scripted_cluster import ScriptedCluster, say
from tests.kube.objects import event, failed
from tests.support.api.api_server import refused
from tests.support.api.eventually import eventually
from tests.support.api.tcp_proxy import LINGER_NOT

Fault = Callable[[ScriptedCluster], AbstractAsyncContextManager[None]]

REFUSED_SECONDS = 4.0
RETRY_AFTER_SECONDS = 1
HALF_A_LINE = json.dumps(event("ADDED", body("half", 1, uid="half", resourceVersion="9"))).encode()[:-9]


async def reset(request: web.Request, _: web.StreamResponse) -> None:
    assert request.transport is not None
    connection: socket.socket = request.transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
    request.transport.abort()


async def reset_at_once(request: web.Request) -> web.StreamResponse:
    await reset(request, web.StreamResponse())
    return web.Response()


async def cut(request: web.Request, response: web.StreamResponse) -> None:
    await response.write(HALF_A_LINE)
    assert request.transport is not None
    request.transport.close()


async def end_in_a_line(_: web.Request, response: web.StreamResponse) -> None:
    await response.write(HALF_A_LINE)


async def expire(_: web.Request, response: web.StreamResponse) -> None:
    await say(response, failed(410, "Expired"))


async def fail(_: web.Request, response: web.StreamResponse) -> None:
    await say(response, failed(500, "InternalError"))


async def talk_nonsense(_: web.Request, response: web.StreamResponse) -> None:
    await response.write(b'{"type":"ADDED","object":\n')
    await asyncio.Event().wait()


async def fall_silent(_: web.Request, __: web.StreamResponse) -> None:
    await asyncio.Event().wait()


async def end_well(_: web.Request, __: web.StreamResponse) -> None:
    return


@asynccontextmanager
async def expired_in_the_stream(cluster: ScriptedCluster) -> AsyncIterator[None]:
    async with cluster.struck(expire):
        yield
        cluster.forget()


@asynccontextmanager
async def expired_on_reconnect(cluster: ScriptedCluster) -> AsyncIterator[None]:
    cluster.forgetting_is_told_at_once = True
    async with cluster.struck(reset):
        yield
        cluster.forget()


@asynccontextmanager
async def expired_in_the_first_line(cluster: ScriptedCluster) -> AsyncIterator[None]:
    async with cluster.struck(end_well):
        yield
        cluster.forget()


@asynccontextmanager
async def busy(cluster: ScriptedCluster) -> AsyncIterator[None]:
    """429 to everything; afterwards the times between its requests show whether it was obeyed."""
    loop, times = asyncio.get_running_loop(), list[float]()
    answer = refused(429, "TooManyRequests", **{"Retry-After": str(RETRY_AFTER_SECONDS)})

    async def refuse(request: web.Request) -> web.StreamResponse:
        times.append(loop.time())
        return await answer(request)

    async with cluster.struck(reset, refuse, lists_too=True):
        yield
        await eventually(lambda: len(times) >= 3)
    assert all(later - earlier >= RETRY_AFTER_SECONDS for earlier, later in pairwise(times))


@asynccontextmanager
async def unavailable(cluster: ScriptedCluster) -> AsyncIterator[None]:
    answer = refused(503, "ServiceUnavailable")
    async with cluster.struck(reset, answer, lists_too=True):
        asked = len(cluster.server.asked)
        yield
        await eventually(lambda: len(cluster.server.asked) > asked + 2)


@asynccontextmanager
async def failed_in_the_stream(cluster: ScriptedCluster) -> AsyncIterator[None]:
    async with cluster.struck(fail):
        yield


@asynccontextmanager
async def connection_reset(cluster: ScriptedCluster) -> AsyncIterator[None]:
    async with cluster.struck(reset, reset_at_once, lists_too=True):
        asked = len(cluster.server.asked)
        yield
        await eventually(lambda: len(cluster.server.asked) > asked + 2)


@asynccontextmanager
async def line_cut(cluster: ScriptedCluster) -> AsyncIterator[None]:
    async with cluster.struck(cut):
        yield


@asynccontextmanager
async def line_without_an_end(cluster: ScriptedCluster) -> AsyncIterator[None]:
    async with cluster.struck(end_in_a_line):
        yield


@asynccontextmanager
async def connection_refused(cluster: ScriptedCluster) -> AsyncIterator[None]:
    await cluster.server.stop()
    yield
    await asyncio.sleep(REFUSED_SECONDS)  # the fault lasts so long
    await cluster.server.start()


@asynccontextmanager
async def end_at_the_timeout(cluster: ScriptedCluster) -> AsyncIterator[None]:
    lists = len(cluster.server.lists())
    async with cluster.struck(None):
        yield
    await eventually(lambda: cluster.is_watched)
    assert len(cluster.server.lists()) == lists


@asynccontextmanager
async def token_rotated(cluster: ScriptedCluster) -> AsyncIterator[None]:
    cluster.token = "second-token"
    async with cluster.struck(reset, refused(401, "Unauthorized"), lists_too=True):
        asked = len(cluster.server.asked)
        yield
        await eventually(lambda: len(cluster.server.asked) > asked + 4)
        cluster.server.token_file.write_text("second-token\n")


@asynccontextmanager
async def bookmarked_and_forgotten(cluster: ScriptedCluster) -> AsyncIterator[None]:
    """Only a client that goes on from the bookmark, and not from the last event, needs no new list."""
    lists = len(cluster.server.lists())
    await cluster.bookmark()
    cluster.forget()
    async with cluster.struck(end_well):
        yield
    await eventually(lambda: cluster.is_watched)
    assert len(cluster.server.lists()) == lists


@asynccontextmanager
async def restored_from_a_backup(cluster: ScriptedCluster) -> AsyncIterator[None]:
    """Changes after the backup are lost, and their versions are given to other changes."""
    restore = cluster.back_up()
    await cluster.put("never-was", 1)
    for size in range(100):
        await cluster.put("before-kept", size)
    await eventually(lambda: cluster.has_said_everything)
    async with cluster.struck(reset):
        restore()
        yield


@asynccontextmanager
async def nonsense(cluster: ScriptedCluster) -> AsyncIterator[None]:
    async with cluster.struck(talk_nonsense):
        yield


@asynccontextmanager
async def silence(cluster: ScriptedCluster) -> AsyncIterator[None]:
    async with cluster.struck(fall_silent):
        yield
