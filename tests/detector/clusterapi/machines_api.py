"""An API server for Machines: it keeps versions of objects and records writes.

As on a real API server, a write with another version or with the uid of another Machine is a conflict.
"""

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from health.kinds.clusterapi.cluster import CLUSTERS
from health.kinds.clusterapi.group import V1BETA2
from health.kinds.clusterapi.machine import MACHINES
from kube.resource import Object, group_version_path, resource_of
from tests.support.api.api_server import Answer, ApiServer, refused, said
from tests.support.values.cluster_api import NAMESPACE, merged

RESOURCE = resource_of(MACHINES)
CONFLICT, GONE = refused(409, "Conflict"), refused(404, "NotFound", "a Machine")
Change = Callable[[Object], None]


class MachinesApi:
    """The Machines of one namespace; `changed` is called for each change, as a watch would do."""

    def __init__(self, server: ApiServer, changed: Callable[[Object], None]) -> None:
        self.objects: dict[str, Object] = {}
        self.patches: list[tuple[str, Object]] = []
        """Names, and what was written, in order."""
        self.tried: defaultdict[str, list[float]] = defaultdict(list)
        """When somebody tried to write each."""
        self.refusals: dict[str, Answer] = {}
        """How writes to some of them are answered."""
        self.between: list[Change] = []
        """What others do between a read and the write that follows, one after the other."""
        self._server = server
        self._changed = changed
        self._version = 0
        served = [
            {"name": resource.plural, "kind": resource.kind, "namespaced": True}
            for resource in (MACHINES, CLUSTERS)
        ]
        server.answer("GET", group_version_path(V1BETA2), said({"resources": served}))

    def put(self, name: str, found: Object) -> None:
        if name not in self.objects:
            self._server.answer("GET", RESOURCE.path(NAMESPACE, name), self._reading(name))
            self._server.answer("PATCH", RESOURCE.path(NAMESPACE, name, "status"), self._writing(name))
        self._store(name, found)
        self._changed(self.objects[name])

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.objects[name].get("status", {})
        return found

    def condition(self, name: str, type_: str) -> dict[str, Any] | None:
        conditions = self.status(name).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == type_), None)

    def written(self) -> list[str]:
        """The names of the written Machines, in order."""
        return [name for name, _ in self.patches]

    def _store(self, name: str, found: Object) -> None:
        self._version += 1
        versioned = found["metadata"] | {"resourceVersion": str(self._version)}
        self.objects[name] = {**found, "metadata": versioned}

    def _reading(self, name: str) -> Answer:
        async def read(request: web.Request) -> web.StreamResponse:
            found = self.objects.get(name)
            answer = GONE if found is None else said(found)
            if found is not None and self.between:
                self.between.pop(0)(found)
            return await answer(request)

        return read

    def _writing(self, name: str) -> Answer:
        async def write(request: web.Request) -> web.StreamResponse:
            body = await request.json()
            self.tried[name].append(time.monotonic())
            return await self._written(name, body)(request)

        return write

    def _written(self, name: str, body: Object) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        found, meant = self.objects[name], body["metadata"]
        if name in self.refusals:
            return self.refusals[name]
        if any(found["metadata"][key] != meant[key] for key in ("uid", "resourceVersion")):
            return CONFLICT
        self.patches.append((name, body["status"]))
        self._store(name, {**found, "status": merged(found.get("status"), body["status"])})
        self._changed(self.objects[name])
        return said(self.objects[name])
