"""WakePace: keeps one second between two wakes of a workflow, however often its cluster changes.

An earlier wake is delayed and not lost: the workflow is compared again when the second is over. Starts, and
wakes that may be starts, are never delayed.
"""

import asyncio
from collections.abc import Callable
from typing import Generic

from detector.dispatching.open_workflows import Key

BETWEEN_WAKES_SECONDS = 1.0


class WakePace(Generic[Key]):
    """When each workflow was last woken, and which wakes are delayed."""

    def __init__(self, compare_later: Callable[[Key], None]) -> None:
        self._compare_later = compare_later
        self._woken: dict[str, float] = {}
        """Times of the clock of the event loop."""
        self._delayed: dict[str, asyncio.TimerHandle] = {}

    def note(self, key: Key) -> None:
        """Note the time of a wake, to delay the next one."""
        self._woken[key.workflow_id] = asyncio.get_running_loop().time()

    def delays(self, key: Key) -> bool:
        """True if its wake is too early; then, a comparison is scheduled."""
        woken, loop = self._woken.get(key.workflow_id), asyncio.get_running_loop()
        if woken is None or loop.time() >= woken + BETWEEN_WAKES_SECONDS:
            return False
        if key.workflow_id not in self._delayed:
            at = woken + BETWEEN_WAKES_SECONDS
            self._delayed[key.workflow_id] = loop.call_at(at, self._end_delay, key)
        return True

    def _end_delay(self, key: Key) -> None:
        self._delayed.pop(key.workflow_id, None)
        self._compare_later(key)

    def forget(self, key: Key) -> None:
        """Forget when it was woken, as it is no longer open."""
        self._woken.pop(key.workflow_id, None)

    def clear(self) -> None:
        for delayed in self._delayed.values():
            delayed.cancel()
        self._delayed.clear()
        self._woken.clear()
