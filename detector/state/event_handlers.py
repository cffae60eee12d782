"""Event handlers are called on each change of the cluster state. They must not raise and must not wait.

The guard reports an exception of a handler, and the other handlers are still called.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from detector.state.request_index import SeenRequest
from health.model.approval import Approval
from health.model.order import OrderRecord
from health.model.references import CheckReference, IncidentReference, RequestReference
from kube.time_slice import TimeSlice
from runtime.guard import Guard

MOST_AT_ONCE = 50


class ChangeHandler(Protocol):
    """Called on changes of checks and targets."""

    def __call__(self, check: CheckReference, target: str | None) -> None:
        """The answer for `target` may have changed; None: the check's own numbers or spec."""


class RequestHandler(Protocol):
    """Called on changes of remediation requests of any check."""

    def __call__(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """The request came (no `before`), changed or went (no `after`); the state shows it already."""


class OrderHandler(Protocol):
    """Called with orders of people to an incident, and with its question to them."""

    def __call__(
        self, incident: IncidentReference, orders: Sequence[OrderRecord], approval: Approval | None
    ) -> None:
        """The incident got these orders, or refused them since, and asks for this approval."""


ContextHandler = Callable[[], None]
"""Called when the cluster context has changed."""


@dataclass(frozen=True, kw_only=True)
class EventHandlers:
    """The handlers of one cluster state, in the order in which they are called."""

    guard: Guard
    of_changes: list[ChangeHandler] = field(default_factory=list)
    of_requests: list[RequestHandler] = field(default_factory=list)
    of_orders: list[OrderHandler] = field(default_factory=list)
    of_context: list[ContextHandler] = field(default_factory=list)

    def add_change_handler(self, handler: ChangeHandler) -> None:
        """Call `handler` on changes from now on, after the handlers that were added before."""
        self.of_changes.append(handler)

    def add_request_handler(self, handler: RequestHandler) -> None:
        self.of_requests.append(handler)

    def add_order_handler(self, handler: OrderHandler) -> None:
        self.of_orders.append(handler)

    def add_context_handler(self, handler: ContextHandler) -> None:
        self.of_context.append(handler)

    def notify_orders(
        self, incident: IncidentReference, orders: Sequence[OrderRecord], approval: Approval | None
    ) -> None:
        for handler in self.of_orders:
            with self.guard.item("order events", f"{_name_of(handler)} {incident.full_id}"):
                handler(incident, orders, approval)

    def notify_context(self) -> None:
        for handler in self.of_context:
            with self.guard.item("events", _name_of(handler)):
                handler()

    def notify_change(self, check: CheckReference, target: str | None) -> None:
        """Tell handlers that the answer for `target`, or (None) the check itself, may have changed."""
        for handler in self.of_changes:
            with self.guard.item("events", _Notification(handler, check, target)):
                handler(check, target)

    def notify_request(
        self, request: RequestReference, before: SeenRequest | None, after: SeenRequest | None
    ) -> None:
        for handler in self.of_requests:
            with self.guard.item("request events", f"{_name_of(handler)} {request}"):
                handler(before, after)


class _Notification(NamedTuple):
    """One call of a handler; formatted only if it fails, since there are so many."""

    handler: ChangeHandler
    check: CheckReference
    target: str | None

    def __str__(self) -> str:
        return f"{_name_of(self.handler)} {self.check} {self.target or ''}"


def _name_of(
    handler: ChangeHandler | RequestHandler | OrderHandler | ContextHandler,
) -> str:
    """The name of a handler, for the log."""
    return str(getattr(handler, "__qualname__", type(handler).__name__))


class ResyncQueue:
    """The checks and targets whose answer may have changed although they themselves did not.

    A policy edit concerns every open incident, and notifying all handlers of one incident takes up to a
    millisecond. Handlers of at most `MOST_AT_ONCE` are notified at once. More wait here, each once, and are
    notified in pieces that yield to the event loop. A handler reads the cluster state as it is then, so it
    uses the latest context.

    Checks go first, so that what handlers remember of a check is right before they hear of its targets.
    Targets follow in turn, one of each check, so that a check with many targets does not delay the others.
    """

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
