"""Comparisons: workflows that wait to be compared with the current observation, each once.

A change of the policy concerns thousands of workflows at once, and one comparison costs up to a millisecond,
so they are compared in pieces. Workflows that are not open go first: wakes do not delay a start.
"""

import asyncio
from typing import Generic

from detector.dispatching.open_workflows import Key


class Comparisons(Generic[Key]):
    """The workflows that wait for a comparison, first in, first out."""

    def __init__(self) -> None:
        self._to_start: dict[str, Key] = {}
        self._to_wake: dict[str, Key] = {}
        self._filled = asyncio.Event()

    def put(self, key: Key, *, is_open: bool) -> None:
        """Add `key`; a waiting key keeps its place."""
        waiting, other = (self._to_wake, self._to_start) if is_open else (self._to_start, self._to_wake)
        other.pop(key.workflow_id, None)
        waiting.setdefault(key.workflow_id, key)
        self._filled.set()

    async def get(self) -> Key:
        """Remove and return the next key; yields to the event loop only while none waits."""
        while not (self._to_start or self._to_wake):
            self._filled.clear()
            await self._filled.wait()
        waiting = self._to_start or self._to_wake
        return waiting.pop(next(iter(waiting)))

    def clear(self) -> None:
        self._to_start.clear()
        self._to_wake.clear()
