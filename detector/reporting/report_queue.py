"""ReportQueue: the keys that wait for a report, each once, with one retry and one pace for all reports.

The status of checks, the conditions of targets, and Events are written through such queues, as controllers
use the work queue of client-go. A key names a check or a target. Its report is made at its turn, from the
state at that moment, so a group of changes leads to one write. The number of keys is limited by the number of
checks and targets.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kube.errors import Conflict, KubernetesError, NotFound, retry_after
from objects.backoff import Backoff
from runtime.guard import Guard

RETRIES = Backoff(timedelta(seconds=0.5), timedelta(seconds=30))
"""After a failed report; a Retry-After of the API server comes on top."""
SHORTEST_REST = timedelta(seconds=0.3)
REST_FOR_WORK = 9
"""The rest after a report, as a multiple of its duration: it may be large, and have many watchers."""
LONGEST_REST = timedelta(seconds=5)
"""Limits that rest, as the API server may have been slow, and people read the reports."""

Key = TypeVar("Key", bound=Hashable)
_log = logging.getLogger(__name__)


def rest_after(took: timedelta) -> timedelta:
    """How long a key is left alone after a report of this duration."""
    return max(SHORTEST_REST, min(REST_FOR_WORK * took, LONGEST_REST))


async def _at_once(_: Hashable) -> None:
    """Wait for nothing, so that a report begins at its turn."""


@dataclass(kw_only=True)
class ReportQueue(Generic[Key]):
    """The keys of one kind of report, while this detector is the leader.

    One key is reported on by one task at a time. Then it rests, and a key that was put meanwhile follows. A
    report that fails is repeated after growing pauses, and delays no other key.
    """

    name: str
    """The kind of report, for logs and metrics."""
    report: Callable[[Key], Awaitable[timedelta | None]]
    """Reports on a key; returns after which time the report changes without an event, or None for never.

    It may raise KubernetesError."""
    guard: Guard
    wait_ready: Callable[[Key], Awaitable[None]] = _at_once
    """Returns when a report on a key may begin."""
    is_urgent: Callable[[Key], bool] = lambda _: False
    at_once: float = math.inf
    """Limit of the reports under way."""
    rest: Callable[[timedelta], timedelta] = rest_after
    """How long a key rests after a report of this duration."""
    is_leading: bool = field(init=False, default=False)
    _urgent: dict[Key, None] = field(init=False, default_factory=dict)
    _ordinary: dict[Key, None] = field(init=False, default_factory=dict)
    _later: dict[Key, asyncio.TimerHandle] = field(init=False, default_factory=dict)
    """Keys that are due at a later time."""
    _resting: dict[Key, asyncio.TimerHandle | None] = field(init=False, default_factory=dict)
    """Keys that are reported on (None), or rest."""
    _again: set[Key] = field(init=False, default_factory=set)
    """Those of them that are due again afterwards."""
    _failures: dict[Key, int] = field(init=False, default_factory=dict)
    """The failed reports of a key in a row."""
    _under_way: int = field(init=False, default=0)
    _changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    async def lead(self, begin: Callable[[], None]) -> None:
        """Report until cancelled; `begin` puts the first keys."""
        self.is_leading = True
        try:
            begin()
            async with asyncio.TaskGroup() as tasks:
                while True:
                    tasks.create_task(self._run(await self._next()))
        finally:
            self.is_leading = False
            for timer in (*self._later.values(), *self._resting.values()):
                if timer is not None:
                    timer.cancel()
            for waiting in (self._urgent, self._ordinary, self._later, self._resting, self._failures):
                waiting.clear()
            self._again.clear()
            self._under_way = 0

    def put(self, key: Key, after: timedelta = timedelta()) -> None:
        """Have a report made on the key after this time, or earlier if it waits already."""
        if not self.is_leading:
            return
        if after > timedelta():
            loop, earlier = asyncio.get_running_loop(), self._later.get(key)
            due = loop.time() + after.total_seconds()
            if earlier is None or due < earlier.when():
                self._forget_later(key)
                self._later[key] = loop.call_at(due, self._come_due, key)
        elif key in self._resting:
            self._again.add(key)
        else:
            (self._urgent if self.is_urgent(key) else self._ordinary)[key] = None
            self._changed.set()

    def waits(self, key: Key) -> bool:
        """True if a report on the key is due or under way."""
        is_under_way = key in self._resting and self._resting[key] is None
        return is_under_way or key in self._again or key in self._urgent or key in self._ordinary

    async def _next(self) -> Key:
        """Remove and return the next key, as soon as another report may begin."""
        while not (self._urgent or self._ordinary) or self._under_way >= self.at_once:
            self._changed.clear()
            await self._changed.wait()
        waiting = self._urgent or self._ordinary
        key = next(iter(waiting))
        self._urgent.pop(key, None)
        self._ordinary.pop(key, None)
        self._resting[key] = None
        self._under_way += 1
        return key

    async def _run(self, key: Key) -> None:
        """Report on a key; after an unexpected error it is left alone until it is put again."""
        rest = timedelta()
        with self.guard.item(self.name, key):
            await self.wait_ready(key)
            self._again.discard(key)
            self._forget_later(key)
            rest = await self._try(key)
        self._under_way -= 1
        self._changed.set()
        loop = asyncio.get_running_loop()
        self._resting[key] = loop.call_later(rest.total_seconds(), self._end_rest, key)

    async def _try(self, key: Key) -> timedelta:
        """Report on a key; returns how long it rests then."""
        began = time.monotonic()
        try:
            changes_after = await self.report(key)
        except KubernetesError as error:
            # In an outage the watch is behind: each write is a conflict.
            level = logging.DEBUG if isinstance(error, Conflict | NotFound) else logging.WARNING
            about = {"part": self.name, "item": str(key), "reason": error.message}
            _log.log(level, "report not written yet", extra=about)
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            self._again.add(key)
            return retry_after(error) + RETRIES.limit(failures)
        self._failures.pop(key, None)
        if changes_after is not None:
            self.put(key, changes_after)
        return self.rest(timedelta(seconds=time.monotonic() - began))

    def _end_rest(self, key: Key) -> None:
        del self._resting[key]
        if key in self._again:
            self._again.remove(key)
            self.put(key)

    def _come_due(self, key: Key) -> None:
        del self._later[key]
        self.put(key)

    def _forget_later(self, key: Key) -> None:
        timer = self._later.pop(key, None)
        if timer is not None:
            timer.cancel()
