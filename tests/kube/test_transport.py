import asyncio
import os
import socket
import subprocess
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes.aio.client import Configuration

from kube.configuration import use_token, without_retries
from kube.errors import NotConfigured, ServerFault, Silent, Unauthorized, Unreachable
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, hanging, lines, refused, reset, said, text
from tests.support.api.eventually import eventually

ROOT = Path(__file__).parents[2]
LONG = timedelta(seconds=30)
SHORT = timedelta(milliseconds=100)


async def test_answer_comes_back_as_it_is(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", text("anything"))

    assert await transport.request("GET", "/x", query=[("a", "b=c,d in (e)")]) == b"anything"
    assert server.asked[0].query == {"a": "b=c,d in (e)"}
    assert server.asked[0].headers["User-Agent"] == "paramedic"


@pytest.mark.parametrize("compression", [True, False])
async def test_answers_are_compressed_unless_the_api_server_is_near(
    server: ApiServer, *, compression: bool
) -> None:
    server.answer("GET", "/x", said({}))

    async with await Transport.connect(str(server.kubeconfig), compression=compression) as transport:
        await transport.request("GET", "/x")

    assert ("gzip" in server.asked[0].headers["Accept-Encoding"]) is compression


async def test_token_file_may_end_in_a_newline(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", said({}))

    await transport.request("GET", "/x")

    assert server.asked[0].headers["Authorization"] == "Bearer first-token"


async def test_refused_token_is_read_anew_and_the_request_repeated_once(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("POST", "/x", refused(401, "Unauthorized"), said({"a": 1}))
    server.token_file.write_text("second-token")

    assert await transport.request("POST", "/x", body={"b": 2}) == b'{"a": 1}'
    assert [asked.headers["Authorization"] for asked in server.asked] == [
        "Bearer first-token",
        "Bearer second-token",
    ]
    assert [asked.body for asked in server.asked] == [{"b": 2}, {"b": 2}]


class Credentials:
    """A program that tells a token when the test lets it."""

    def __init__(self) -> None:
        self.loads = 0
        self.gate = asyncio.Event()

    async def load(self, configuration: Configuration) -> None:
        self.loads += 1
        await self.gate.wait()
        use_token(configuration, "second-token")


def transport_with(credentials: Credentials, server: ApiServer) -> Transport:
    configuration = without_retries()
    configuration.host = f"http://127.0.0.1:{server.port}"
    use_token(configuration, "first-token")
    return Transport(configuration, credentials.load)


async def only_the_second_token(request: web.Request) -> web.StreamResponse:
    is_right = request.headers["Authorization"] == "Bearer second-token"
    return await (said({}) if is_right else refused(401, "Unauthorized"))(request)


async def test_requests_that_are_refused_together_read_the_credentials_once(server: ApiServer) -> None:
    server.answer("GET", "/x", only_the_second_token)
    credentials = Credentials()
    async with transport_with(credentials, server) as transport:
        asking = [asyncio.create_task(transport.request("GET", "/x")) for _ in range(20)]
        await eventually(lambda: len(server.asked) == len(asking) and credentials.loads > 0)
        asking[0].cancel()
        credentials.gate.set()
        assert await asyncio.gather(*asking[1:]) == [b"{}"] * 19
    assert credentials.loads < 5, "but for refusals that arrive after it was done, that is one"


async def test_wait_for_credentials_that_never_come_ends(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kube.transport.LOADING", timedelta(milliseconds=20))
    server.answer("GET", "/x", only_the_second_token)
    credentials = Credentials()
    async with transport_with(credentials, server) as transport:
        with pytest.raises(
            NotConfigured, match=r"^The credentials for http://.* could not be read anew within"
        ):
            await transport.request("GET", "/x")
        credentials.gate.set()
        assert await transport.request("GET", "/x") == b"{}"
    assert credentials.loads == 2


async def test_token_that_stays_refused_is_an_error(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", refused(401, "Unauthorized"))

    with pytest.raises(Unauthorized):
        await transport.request("GET", "/x")
    assert len(server.asked) == 2


async def test_refused_token_is_read_anew_for_a_stream_too(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", refused(401, "Unauthorized"), lines({"a": 1}))

    async with transport.stream("/x", (), silence=LONG) as stream:
        assert [line async for line in stream] == [b'{"a": 1}']


async def test_nothing_else_is_repeated(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", refused(503, "ServiceUnavailable", **{"Retry-After": "1"}))

    with pytest.raises(ServerFault) as caught:
        await transport.request("GET", "/x")
    assert caught.value.retry_after == timedelta(seconds=1)
    assert len(server.asked) == 1


async def test_server_that_is_not_there_is_unreachable(server: ApiServer, transport: Transport) -> None:
    await server.stop()

    with pytest.raises(Unreachable, match=r"^GET /x got no complete answer: .+"):
        await transport.request("GET", "/x")
    with pytest.raises(Unreachable):
        async with transport.stream("/x", (), silence=LONG):
            pass


async def test_connection_that_breaks_is_unreachable(server: ApiServer, transport: Transport) -> None:
    server.answer("POST", "/x", reset)

    with pytest.raises(Unreachable):
        await transport.request("POST", "/x")


async def test_answer_that_does_not_come_in_time_is_unreachable(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", "/x", hanging)

    with pytest.raises(Unreachable):
        await transport.request("GET", "/x", timeout=SHORT)
    with pytest.raises(Unreachable, match="not answered within"):
        async with transport.stream("/x", (), silence=LONG, opening=SHORT):
            pass


async def test_answer_that_is_cut_is_unreachable(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", lines(b"{", then="cut"))

    with pytest.raises(Unreachable):
        await transport.request("GET", "/x")


async def test_stream_ends_when_the_server_ends_it(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", lines({"a": 1}, {"a": 2}))

    async with transport.stream("/x", (), silence=LONG) as stream:
        assert [line async for line in stream] == [b'{"a": 1}', b'{"a": 2}']


async def test_stream_that_is_cut_between_lines_is_unreachable(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", "/x", lines({"a": 1}, then="cut"))

    async with transport.stream("/x", (), silence=LONG) as stream:
        assert await anext(stream) == b'{"a": 1}'
        with pytest.raises(Unreachable):
            await anext(stream)


async def test_stream_that_says_nothing_is_silent(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", lines({"a": 1}, then="silent"))

    async with transport.stream("/x", (), silence=SHORT) as stream:
        assert await anext(stream) == b'{"a": 1}'
        with pytest.raises(Silent):
            await anext(stream)


async def test_many_streams_do_not_starve_a_request(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/watched", lines({}, then="silent"))
    server.answer("GET", "/x", said({}))

    async with AsyncExitStack() as stack:
        for _ in range(120):  # the library's own session allows 100 connections
            stream = await stack.enter_async_context(transport.stream("/watched", (), silence=LONG))
            await anext(stream)
        assert await transport.request("GET", "/x") == b"{}"


async def test_cancelled_request_stays_cancelled(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", hanging)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await transport.request("GET", "/x")


async def test_context_that_is_not_there_is_named(server: ApiServer) -> None:
    with pytest.raises(NotConfigured, match="elsewhere"):
        await Transport.connect(str(server.kubeconfig), "elsewhere")


async def test_kubeconfig_of_the_environment_is_used(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    server.answer("GET", "/x", said({}))

    async with await Transport.connect() as transport:
        assert await transport.request("GET", "/x") == b"{}"


async def test_nothing_to_connect_to_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(NotConfigured, match="No kubeconfig was given or found"):
        await Transport.connect()


async def test_proxy_of_the_environment_is_not_used_on_loopback(
    server: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.answer("GET", "/x", said({}))

    async with await Transport.connect(str(server.kubeconfig)) as connected:
        assert await connected.request("GET", "/x") == b"{}"
    assert await transport.request("GET", "/x") == b"{}"


async def unchanged(_: Configuration) -> None: ...


async def ask() -> None:
    """Send a request while uvloop believes that its descriptor belongs to another connection."""
    near, far = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=near)
    stale = near.fileno()
    kept = os.dup(stale)
    os.close(stale)
    configuration = without_retries()
    configuration.host = "http://127.0.0.1:1"
    use_token(configuration, "token")
    try:
        async with Transport(configuration, unchanged) as transport:
            with pytest.raises(Unreachable, match="is used by transport"):
                await transport.request("GET", "/x")
    finally:
        os.dup2(kept, stale)
        os.close(kept)
        writer.close()
        far.close()


def test_descriptor_that_uvloop_has_not_released_is_an_unreachable_server() -> None:
    """In a process of its own: a thread of this one could open the descriptor meanwhile."""
    script = "import uvloop; from tests.kube import test_transport; uvloop.run(test_transport.ask())"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, cwd=ROOT)  # noqa: S603  ours


async def test_error_of_our_own_is_no_unreachable_server(transport: Transport) -> None:
    body: dict[str, object] = {}
    for _ in range(sys.getrecursionlimit()):
        body = {"in": body}
    with pytest.raises(RecursionError):
        await transport.request("POST", "/x", body=body)
