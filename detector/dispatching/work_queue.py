"""WorkQueue: workflows to start or to wake, most urgent first, each at most once.

Of one workflow one call is made at a time: a wake-up that overtakes its start would find nothing to wake.
"""

import asyncio
import heapq
import itertools
from datetime import datetime
from typing import Generic

from detector.dispatching.open_workflows import Key

Urgency = tuple[float, datetime]
"""The seconds that it may wait, and among those that may wait equally long since when it should be."""


class WorkQueue(Generic[Key]):
    """A queue in order of urgency."""

    def __init__(self) -> None:
        self._heap: list[tuple[Urgency, int, Key]] = []
        self._waiting: set[str] = set()
        self._called: set[str] = set()
        self._after_the_call: dict[str, tuple[Urgency, Key]] = {}
        self._numbers = itertools.count()
        self._filled = asyncio.Event()

    def put(self, key: Key, order: Urgency) -> None:
        """Add `key` unless it waits already."""
        if key.workflow_id in self._waiting:
            return
        self._waiting.add(key.workflow_id)
        if key.workflow_id in self._called:
            self._after_the_call[key.workflow_id] = order, key
        else:
            self._push(key, order)

    def _push(self, key: Key, order: Urgency) -> None:
        heapq.heappush(self._heap, (order, next(self._numbers), key))
        self._filled.set()

    async def get(self) -> Key:
        """The most urgent key, as soon as there is one; not again before it is `done`."""
        while not self._heap:
            self._filled.clear()
            await self._filled.wait()
        _, _, key = heapq.heappop(self._heap)
        self._waiting.discard(key.workflow_id)
        self._called.add(key.workflow_id)
        return key

    def done(self, key: Key) -> None:
        """The call for a key has ended, however."""
        self._called.discard(key.workflow_id)
        next_call = self._after_the_call.pop(key.workflow_id, None)
        if next_call is not None:
            order, again = next_call
            self._push(again, order)

    def clear(self) -> None:
        """Forget all."""
        self._heap.clear()
        self._waiting.clear()
        self._called.clear()
        self._after_the_call.clear()
