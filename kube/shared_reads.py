"""Reads that concurrent callers share, each as fresh as a read of its own.

A caller gets the answer to a request that was sent after its call. A hundred acts that wait together need the
same check and template: one read of each, not a hundred. All callers get the same object and must not change
it.
"""

import asyncio
from datetime import timedelta

from kube.client import Client
from kube.resource import Object, Resource

GATHER = timedelta(seconds=0.1)
"""Between two reads, more callers may join for this time: a storm then has a third fewer reads."""

LONGEST = timedelta(seconds=60)
"""The limit of waiting for the previous read, whose own limits together are shorter."""

_Key = tuple[Resource, str, str]


class SharedReads:
    """GETs of single objects; for each object at most one is running and one is waiting."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._under_way: dict[_Key, asyncio.Task[Object]] = {}
        self._in_waiting: dict[_Key, asyncio.Task[Object]] = {}

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        """The object as the API server held it after this call; raises as `Client.get`."""
        key = (resource, name, namespace)
        waiting = self._in_waiting.get(key)
        if waiting is None:
            waiting = self._in_waiting[key] = asyncio.create_task(self._read(key))
        # A cancelled caller must not cancel the read of the others.
        return await asyncio.shield(waiting)

    async def _read(self, key: _Key) -> Object:
        before = self._under_way.get(key)
        if before is not None:
            await asyncio.wait([before], timeout=LONGEST.total_seconds())
            await asyncio.sleep(GATHER.total_seconds())
        # Sent from here on: later callers need another read.
        task = self._under_way[key] = self._in_waiting.pop(key)
        try:
            return await self._client.get(*key)
        finally:
            if self._under_way.get(key) is task:
                del self._under_way[key]
