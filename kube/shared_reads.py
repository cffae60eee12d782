"""Reads that many callers share, each as fresh as one of its own.

Whoever asks gets an answer to a request that was sent after it asked. A hundred acts that wait together look
at the same check and the same template: they need one read of each, not a hundred. What is answered is one
object for all: it must not be changed.
"""

import asyncio
from datetime import timedelta

from kube.client import Client
from kube.resource import Object, Resource

GATHER = timedelta(seconds=0.1)
"""Where one read follows another, more callers may join it for so long: a storm has a third fewer of them."""

LONGEST = timedelta(seconds=60)
"""Nobody waits longer for the read before: it has limits of its own, which together are shorter."""

_Key = tuple[Resource, str, str]


class SharedReads:
    """GETs of single objects, at most one under way and one in waiting for each."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._under_way: dict[_Key, asyncio.Task[Object]] = {}
        self._in_waiting: dict[_Key, asyncio.Task[Object]] = {}

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        """Return the object as the API server held it after this call; raises what `Client.get` does."""
        key = (resource, name, namespace)
        waiting = self._in_waiting.get(key)
        if waiting is None:
            waiting = self._in_waiting[key] = asyncio.create_task(self._read(key))
        # One caller that is cancelled must not take the read from the others.
        return await asyncio.shield(waiting)

    async def _read(self, key: _Key) -> Object:
        before = self._under_way.get(key)
        if before is not None:
            await asyncio.wait([before], timeout=LONGEST.total_seconds())
            await asyncio.sleep(GATHER.total_seconds())
        # Sent from here on: whoever asks later needs another one.
        task = self._under_way[key] = self._in_waiting.pop(key)
        try:
            return await self._client.get(*key)
        finally:
            if self._under_way.get(key) is task:
                del self._under_way[key]
