"""Comparisons: the workflows whose answer may be another now, each once, until they are compared.

A change of the policy concerns thousands at once. To compare one costs up to a millisecond, so they wait here
and are compared in pieces. Those that are not open go first: a start waits for no wake-up.
"""

import asyncio
from typing import Generic

from detector.dispatching.open_workflows import Key


class Comparisons(Generic[Key]):
    """Those that wait, first come first served."""

    def __init__(self) -> None:
        self._to_start: dict[str, Key] = {}
        self._to_wake: dict[str, Key] = {}
        self._filled = asyncio.Event()

    def put(self, key: Key, *, is_open: bool) -> None:
        """Add `key`, which keeps its place if it waits already."""
        waiting, other = (self._to_wake, self._to_start) if is_open else (self._to_start, self._to_wake)
        other.pop(key.workflow_id, None)
        waiting.setdefault(key.workflow_id, key)
        self._filled.set()

    async def get(self) -> Key:
        """The next one, as soon as there is one; yields to the event loop only where there is none."""
        while not (self._to_start or self._to_wake):
            self._filled.clear()
            await self._filled.wait()
        waiting = self._to_start or self._to_wake
        return waiting.pop(next(iter(waiting)))

    def clear(self) -> None:
        """Forget all."""
        self._to_start.clear()
        self._to_wake.clear()
