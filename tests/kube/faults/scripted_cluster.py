"""ScriptedCluster: list and watch as an API server serves them, with faults that strike when a test says so.

It keeps ConfigMaps, versions and a history of events that can be forgotten. While a fault strikes, the open
watches end as it says and new ones are answered as it says, or not before it is over; lists wait as well, so
that what happens meanwhile falls into the gap.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from copy import deepcopy

from aiohttp import web

from kube.resource import Object
from tests.kube.faults.config_maps import PATH, Contents, body
from tests.kube.objects import event, failed
from tests.support.api.api_server import Answer, ApiServer, refused

End = Callable[[web.Request, web.StreamResponse], Awaitable[None]]
"""How an open watch ends, or hangs silently."""

_AHEAD = 1000  # versions that a bookmark is ahead of what was seen


class ScriptedCluster:
    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.token = "first-token"
        self.forgetting_is_told_at_once = False
        """HTTP 410 instead of an ERROR in the stream for a resourceVersion that was forgotten."""
        self._objects: dict[str, Object] = {}
        self._history: list[tuple[int, object]] = []
        self._version = 1
        self._forgotten = 0
        self._said = 0  # the version that a watch has said last
        self._open_watches = 0
        self._ends: End | None = None
        self._answer: Answer | None = None
        self._answers_lists = False
        self._is_over = asyncio.Event()
        self._is_over.set()
        self._moved = asyncio.Condition()
        server.answer("GET", PATH, self._list)
        server.version(PATH, self._list)
        server.watch(PATH, self._watch)

    async def put(self, name: str, size: int) -> None:
        known = self._objects.get(name)
        self._version += 1
        uid = known["metadata"]["uid"] if known else f"uid-{self._version}"
        self._objects[name] = body(name, size, uid=uid, resourceVersion=str(self._version))
        self._objects[name]["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
        await self._tell(event("MODIFIED" if known else "ADDED", self._objects[name]))

    async def delete(self, name: str) -> None:
        gone = deepcopy(self._objects.pop(name))
        self._version += 1
        gone["metadata"]["resourceVersion"] = str(self._version)
        await self._tell(event("DELETED", gone))

    async def contents(self) -> Contents:
        return {name: (one["metadata"]["uid"], one["data"]["size"]) for name, one in self._objects.items()}

    @property
    def is_watched(self) -> bool:
        return self._open_watches > 0

    @property
    def has_said_everything(self) -> bool:
        return self._said == self._version

    async def bookmark(self) -> None:
        """Go far ahead by changes of objects that are not selected, and say so in a bookmark."""
        self._version += _AHEAD
        metadata = {"resourceVersion": str(self._version)}
        await self._tell(event("BOOKMARK", {"kind": "ConfigMap", "metadata": metadata}))
        async with self._moved:
            await self._moved.wait_for(lambda: self.has_said_everything)

    def forget(self) -> None:
        """Forget the history of events: no watch can start from an earlier version any more."""
        self._forgotten = self._version
        self._history.clear()

    def back_up(self) -> Callable[[], None]:
        """Return what restores everything as it is now, and forgets what came since."""
        objects, version = deepcopy(self._objects), self._version

        def restore() -> None:
            self._objects, self._version = deepcopy(objects), version
            self._history.clear()
            self._forgotten = version

        return restore

    @asynccontextmanager
    async def struck(
        self, ends: End | None, answer: Answer | None = None, *, lists_too: bool = False
    ) -> AsyncIterator[None]:
        """Strike: end the open watches (None: as they would end anyway) and refuse new requests."""
        self._ends, self._answer, self._answers_lists = ends, answer, lists_too
        self._is_over.clear()
        async with self._moved:
            self._moved.notify_all()
            await self._moved.wait_for(lambda: self._open_watches == 0)
        yield
        self._ends = self._answer = None
        self._is_over.set()

    async def _tell(self, told: object) -> None:
        self._history.append((self._version, told))
        async with self._moved:
            self._moved.notify_all()

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if self._answer is not None and self._answers_lists:
            return await self._answer(request)
        await self._is_over.wait()
        if request.headers["Authorization"] != f"Bearer {self.token}":
            return await refused(401, "Unauthorized")(request)
        begin, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
        items = list(self._objects.values())
        rest = "" if begin + limit >= len(items) else str(begin + limit)
        metadata = {"resourceVersion": str(self._version), "continue": rest}
        return web.json_response({"metadata": metadata, "items": items[begin : begin + limit]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] != f"Bearer {self.token}":
            return await refused(401, "Unauthorized")(request)
        if self._answer is not None:
            return await self._answer(request)
        await self._is_over.wait()
        version = int(request.query["resourceVersion"])
        if version < self._forgotten and self.forgetting_is_told_at_once:
            return await refused(410, "Expired")(request)
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        if version < self._forgotten:
            await say(response, failed(410, "Expired"))
            return response
        await self._serve(request, response, version)
        return response

    async def _serve(self, request: web.Request, response: web.StreamResponse, version: int) -> None:
        self._open_watches += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(int(request.query["timeoutSeconds"])):
                    await self._stream(response, version)
        finally:
            self._open_watches -= 1
            async with self._moved:
                self._moved.notify_all()
        if self._ends is not None:
            await self._ends(request, response)

    async def _stream(self, response: web.StreamResponse, version: int) -> None:
        """Say what happened after `version` until a fault ends it."""
        while True:
            for happened, told in list(self._history):
                if happened > version:
                    await say(response, told)
                    version = happened
            async with self._moved:
                if self._said != version:
                    self._said = version
                    self._moved.notify_all()
                if self._ends is not None:
                    return
                if not self._history or self._history[-1][0] <= version:
                    await self._moved.wait()


async def say(response: web.StreamResponse, told: object) -> None:
    await response.write(json.dumps(told).encode() + b"\n")
