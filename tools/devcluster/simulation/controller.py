"""Controller, as of controller-runtime: one task at a time for each object that needs work.

Failed work is retried with back-off. An object that changes while its work runs is queued again, and so is
one whose work asks for that after a time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from devcluster.errors import SimulationError
from devcluster.simulation.retrying import BACKOFF, FailureLog
from kube.errors import KubernetesError
from kube.record import Key
from runtime.problems import retry_forever

_ERRORS = (KubernetesError, SimulationError)

Work = Callable[[Key], Awaitable[timedelta | None]]
"""Does the work for an object. Returns when to look again without a change, or None."""


@dataclass(frozen=True)
class NoAction:
    """The step of a controller if the object is as it should be, or another controller acts next."""


class Controller:
    """Runs `work(key)` in `tasks`; the log calls its objects `kind`."""

    def __init__(self, kind: str, work: Work, tasks: asyncio.TaskGroup) -> None:
        self._kind = kind
        self._work = work
        self._tasks = tasks
        self._changes: dict[Key, asyncio.Event] = {}
        """For the objects in work: whether one has changed since its work began."""

    def enqueue(self, key: Key) -> None:
        """Queue an object that appeared, changed or went."""
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
            again = await retry_forever(self._name(key), work, _ERRORS, FailureLog(), BACKOFF)
        del self._changes[key]

    def _name(self, key: Key) -> str:
        return f"{self._kind} {key.namespace}/{key.name}"


async def _either(changed: asyncio.Event, after: timedelta | None) -> None:
    if after is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(after.total_seconds()):
                await changed.wait()
