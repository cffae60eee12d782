"""WorkQueue, as of client-go: one task at a time for each object that needs work.

Failed work is retried with back-off. An object that changes while its work runs is queued again, and so is
one whose work asks for that after a time.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from devcluster.simulation.errors import SimulationError
from kube.errors import KubernetesError
from kube.record import Key
from objects.backoff import Backoff

LOG = logging.getLogger(__name__)
BACKOFF = Backoff(timedelta(seconds=0.2), timedelta(seconds=7), jitter=(0.8, 1.2))
"""Its longest wait is the one of a real kubelet between two attempts to renew its Lease."""

T = TypeVar("T")


async def retry_forever(
    who: str,
    work: Callable[[], Awaitable[T]],
    *passing: type[Exception],
    backoff: Backoff = BACKOFF,
) -> T:
    """The result of `work`, which is retried while it raises one of the `passing` errors.

    Only the first of consecutive failures is logged as a warning: a thousand kubelets may fail at once.
    """
    failures, level = 0, logging.WARNING
    while True:
        try:
            return await work()
        except passing as error:
            LOG.log(level, "%s: tries again until it succeeds: %s", who, error)
        failures, level = failures + 1, logging.DEBUG
        wait = backoff.wait(failures, random.random())  # noqa: S311  spreads load
        await asyncio.sleep(wait.total_seconds())


Work = Callable[[Key], Awaitable[timedelta | None]]
"""Does the work for an object. Returns when to look again without a change, or None."""


class WorkQueue:
    """Runs `work(key)` in `tasks`; the log calls its objects `kind`."""

    def __init__(self, kind: str, work: Work, tasks: asyncio.TaskGroup) -> None:
        self._kind = kind
        self._work = work
        self._tasks = tasks
        self._changes: dict[Key, asyncio.Event] = {}
        """For the objects in work: whether one has changed since its work began."""

    def add(self, key: Key) -> None:
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
            again = await retry_forever(self._name(key), work, KubernetesError, SimulationError)
        del self._changes[key]

    def _name(self, key: Key) -> str:
        return f"{self._kind} {key.namespace}/{key.name}"


async def _either(changed: asyncio.Event, after: timedelta | None) -> None:
    if after is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(after.total_seconds()):
                await changed.wait()
