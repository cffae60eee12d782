"""One task for each object that there is something to do about, at most one at a time.

Work that fails is taken up again, ever more slowly. An object that changes while it is worked on is looked at
once more when that is done, and so is one whose work says that there will be more to do after a while.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

from devcluster.simulation.errors import SimulationError
from devcluster.simulation.insistence import insist
from kube.errors import KubernetesError
from kube.record import Key

Work = Callable[[Key], Awaitable[timedelta | None]]
"""Does what there is to do about an object; answers after how long to look again, if nothing changes."""


class WorkQueue:
    """Runs `work(key)` in `tasks`; `kind` is what its objects are called in the log."""

    def __init__(self, kind: str, work: Work, tasks: asyncio.TaskGroup) -> None:
        self._kind = kind
        self._work = work
        self._tasks = tasks
        self._changes: dict[Key, asyncio.Event] = {}
        """Of the objects that are under way: whether one has changed since work on it began."""

    def add(self, key: Key) -> None:
        """Note that the object appeared, changed or went."""
        if key not in self._changes:
            self._changes[key] = asyncio.Event()
            self._tasks.create_task(self._keep_up(key), name=self._name(key))
        self._changes[key].set()

    async def _keep_up(self, key: Key) -> None:
        async def work() -> timedelta | None:
            return await self._work(key)

        changed = self._changes[key]
        again: timedelta | None = None
        while changed.is_set() or again is not None:
            await _either(changed, again)
            changed.clear()
            again = await insist(self._name(key), work, KubernetesError, SimulationError)
        del self._changes[key]

    def _name(self, key: Key) -> str:
        return f"{self._kind} {key.namespace}/{key.name}"


async def _either(changed: asyncio.Event, after: timedelta | None) -> None:
    if after is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(after.total_seconds()):
                await changed.wait()
