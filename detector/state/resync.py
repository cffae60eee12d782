"""ResyncQueue: checks and targets whose answer may have changed although they themselves did not.

A policy edit concerns every open incident, and notifying all handlers of one incident takes up to a
millisecond. Handlers of at most `MOST_AT_ONCE` are notified at once. More wait here, each once, and are
notified in pieces that yield to the event loop. A handler reads the cluster state as it is then, so it uses
the latest context.

Checks go first, so that what handlers remember of a check is right before they hear of its targets. Targets
follow in turn, one of each check, so that a check with many targets does not delay the others.
"""

import asyncio
from collections.abc import Iterable, Mapping

from detector.state.event_handlers import ChangeHandler
from health.model.references import CheckReference
from kube.time_slice import TimeSlice

MOST_AT_ONCE = 50


class ResyncQueue:
    """The notifications of one cluster state that wait for their turn."""

    def __init__(self, notify: ChangeHandler) -> None:
        self._notify = notify
        self._checks: dict[CheckReference, None] = {}
        self._targets: dict[CheckReference, dict[str, None]] = {}
        self._length = 0
        """The number of waiting targets."""
        self._filled = asyncio.Event()

    def add(self, checks: Iterable[CheckReference], targets: Mapping[CheckReference, Iterable[str]]) -> None:
        """Have handlers notified of these checks and targets; entries that wait already keep their place."""
        for check in checks:
            self._checks.setdefault(check)
        for check, names in targets.items():
            self._add_targets(check, names)
        if self._length + len(self._checks) > MOST_AT_ONCE:
            self._filled.set()
            return
        while self.notify_next():
            pass

    def _add_targets(self, check: CheckReference, names: Iterable[str]) -> None:
        added = dict.fromkeys(names)
        if not added:
            return
        waiting = self._targets.setdefault(check, {})
        before = len(waiting)
        waiting.update(added)
        self._length += len(waiting) - before

    def notify_waiting(self, checks: Iterable[CheckReference], target: str) -> None:
        """Notify of a target now if it waits: it is about to change, and handlers remember its old state."""
        for check in checks if self._targets else ():
            if target in self._targets.get(check, {}):
                self._take_out(check, target)
                self._notify(check, target)

    def notify_next(self) -> bool:
        """Notify of the next entry; returns whether there was one."""
        if self._checks:
            check = next(iter(self._checks))
            del self._checks[check]
            self._notify(check, None)
            return True
        if not self._targets:
            return False
        check, waiting = next(iter(self._targets.items()))
        target = next(iter(waiting))
        self._targets[check] = self._targets.pop(check)  # behind all other checks
        self._take_out(check, target)
        self._notify(check, target)
        return True

    def _take_out(self, check: CheckReference, target: str) -> None:
        self._length -= 1
        del self._targets[check][target]
        if not self._targets[check]:
            del self._targets[check]

    async def run(self) -> None:
        """Send waiting notifications in pieces until cancelled."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            time_slice = TimeSlice()
            while self.notify_next():
                await time_slice.yield_if_over()
