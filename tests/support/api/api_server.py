"""A small HTTP server that answers as a test has scripted: faults that no real one shows on demand.

Each path has a queue of answers for plain requests, one for watches, and one for the question which version
the server is at (limit=1), which is far ahead unless a test says otherwise; the last one is repeated.
"""

import asyncio
import json
import ssl
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from kube.resource import KUBE_SYSTEM, NAMESPACES

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    client: str = ""
    """The common name of the client certificate."""


class ApiServer:
    """On loopback, on a free port; `stop` and `start` keep the port."""

    def __init__(self, directory: Path, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.asked: list[Asked] = []
        self.token_file = directory / "token"
        self.kubeconfig = directory / "kubeconfig"
        self._answers: dict[tuple[str, str, bool], deque[Answer]] = defaultdict(deque)
        self._versions: dict[str, deque[Answer]] = defaultdict(deque)
        self.is_cluster(f"uid-of-{directory.name}")
        self._runner: web.AppRunner | None = None
        self._port = 0

    async def __aenter__(self) -> Self:
        await self.start()
        self.token_file.write_text("first-token\n")
        self.kubeconfig.write_text(json.dumps(self._configuration()))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        return self._port

    async def start(self) -> None:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True, ssl_context=self._tls)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def answer(self, method: str, path: str, *answers: Answer) -> None:
        self._answers[method, path, False].extend(answers)

    def is_cluster(self, uid: str) -> None:
        """Be the API server of the cluster whose kube-system has that uid."""
        path = f"{NAMESPACES.path()}/{KUBE_SYSTEM}"
        self.forget("GET", path)
        self.answer("GET", path, said({"metadata": {"name": KUBE_SYSTEM, "uid": uid}}))

    def forget(self, method: str, path: str) -> None:
        """Take back what was to be answered."""
        self._answers[method, path, False].clear()

    def version(self, path: str, *answers: Answer) -> None:
        self._versions[path].extend(answers)

    def watch(self, path: str, *answers: Answer) -> None:
        self._answers["GET", path, True].extend(answers)

    def lists(self) -> list[Asked]:
        """The pages of lists of a reflector."""
        return [
            asked for asked in self.asked if "limit" in asked.query and not _asks_for_version(asked.query)
        ]

    def reads(self) -> list[Asked]:
        return [asked for asked in self.asked if _asks_for_version(asked.query)]

    def watches(self) -> list[Asked]:
        return [asked for asked in self.asked if "watch" in asked.query]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        self.asked.append(
            Asked(
                request.method,
                request.path,
                dict(request.query),
                dict(request.headers),
                json.loads(text) if text else None,
                _client(request),
            )
        )
        answers = self._answers[request.method, request.path, "watch" in request.query]
        if _asks_for_version(request.query):
            answers = self._versions[request.path] or deque([FAR_AHEAD])
        assert answers, f"nothing is scripted for {request.method} {request.path_qs}"
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        return await answer(request)

    def _configuration(self) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{self._port}"}}],
            "users": [{"name": "test", "user": {"tokenFile": str(self.token_file)}}],
        }


def _client(request: web.Request) -> str:
    certificate = request.get_extra_info("peercert") or {}
    names = dict(one for [one] in certificate.get("subject", ()))
    return str(names.get("commonName", ""))


def _asks_for_version(query: Mapping[str, str]) -> bool:
    return query.get("limit") == "1"


def said(body: object, status: int = 200, **headers: str) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=headers)

    return answer


FAR_AHEAD = said({"metadata": {"resourceVersion": "999999"}, "items": []})


def text(body: str, status: int = 200) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=body, status=status)

    return answer


def refused(code: int, reason: str, name: str = "", **headers: str) -> Answer:
    """Answer with a Status; `name` is the object that it names."""
    details = {"details": {"name": name}} if name else {}
    return said(
        {"kind": "Status", "code": code, "reason": reason, "message": f"said {reason}", **details},
        code,
        **headers,
    )


NOT_SERVED = text("404 page not found\n", 404)
CORE = said({"resources": [{"name": "nodes", "kind": "Node", "namespaced": False}]})
"""A short form of the resources that every API server serves under /api/v1."""


async def hanging(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def reset(request: web.Request) -> web.StreamResponse:
    """Break the connection off without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def lines(*events: object, then: str = "end") -> Answer:
    """Answer with lines (bytes as they are, else JSON); then "end" properly, "cut" or stay "silent"."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for event in events:
            await response.write(event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n")
        if then == "silent":
            await asyncio.Event().wait()
        if then == "cut":
            assert request.transport is not None
            request.transport.close()
        return response

    return answer


class LiveWatch:
    """A watch that says what the test tells it to, while it runs."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[object] = asyncio.Queue()

    def send(self, event: object) -> None:
        self._events.put_nowait(event)

    def end(self) -> None:
        self._events.put_nowait(None)

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        while (event := await self._events.get()) is not None:
            await response.write(json.dumps(event).encode() + b"\n")
        return response
