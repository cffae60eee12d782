"""The queues of the Reconciler: workflows to compare with the observation, and workflows to start or wake.

`WakePace` keeps one second between two wakes of a workflow, however often its cluster changes.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Generic

from detector.dispatching.open_workflows import Key

BETWEEN_WAKES_SECONDS = 1.0


class Comparisons(Generic[Key]):
    """The workflows that wait for a comparison with the current observation, each once, first in, first out.

    A change of the policy concerns thousands of workflows at once, and one comparison costs up to a
    millisecond, so they are compared in pieces. Workflows that are not open go first: wakes do not delay a
    start.
    """

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


class WorkQueue(Generic[Key]):
    """The workflows to start or wake, in order of urgency, each once.

    The order is by our own clock: when the workflow was added, plus how long it may wait. Clusters write the
    times in objects, so a hostile cluster could always put itself first; here the others get their turn.

    Only one call is made for a workflow at a time: a wake that overtakes its start would find no workflow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Key]] = []
        self._waiting: dict[str, float] = {}
        """When each waiting key is due."""
        self._called: set[str] = set()
        self._after_the_call: dict[str, Key] = {}
        self._numbers = itertools.count()
        self._filled = asyncio.Event()

    def put(self, key: Key, may_wait_seconds: float) -> None:
        """Add `key`, or bring it forward if it waits already and may wait less."""
        due = self._clock() + may_wait_seconds
        waits_until = self._waiting.get(key.workflow_id)
        if waits_until is not None and waits_until <= due:
            return
        self._waiting[key.workflow_id] = due
        if key.workflow_id in self._called:
            self._after_the_call[key.workflow_id] = key
        else:
            self._push(key)

    def _push(self, key: Key) -> None:
        heapq.heappush(self._heap, (self._waiting[key.workflow_id], next(self._numbers), key))
        self._filled.set()

    async def get(self) -> Key:
        """Remove and return the most urgent key, as soon as there is one; not again before `done`."""
        while True:
            while not self._heap:
                self._filled.clear()
                await self._filled.wait()
            due, _, key = heapq.heappop(self._heap)
            if self._waiting.get(key.workflow_id) == due:  # else it was brought forward
                del self._waiting[key.workflow_id]
                self._called.add(key.workflow_id)
                return key

    def done(self, key: Key) -> None:
        """Note the end of the call for a key, with or without success."""
        self._called.discard(key.workflow_id)
        again = self._after_the_call.pop(key.workflow_id, None)
        if again is not None:
            self._push(again)

    def clear(self) -> None:
        self._heap.clear()
        self._waiting.clear()
        self._called.clear()
        self._after_the_call.clear()


class WakePace(Generic[Key]):
    """When each workflow was last woken, and which wakes are delayed.

    An earlier wake is delayed and not lost: the workflow is compared again when the second is over. Starts,
    and wakes that may be starts, are never delayed.
    """

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
