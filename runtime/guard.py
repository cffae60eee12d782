"""Guard: a failure at one item of many ends only the work on that item.

A detector answers thousands of incidents from one process. An unexpected error at one object must not stop
the answers for others, nor end the process, which would read the same object again after a restart. So a
guard stands around each item: one answer, one event handler, one line of a list. It is the only place that
catches every exception. Each failure is counted, and the first of its kind is logged with its traceback. The
caller decides the result of a failed item, which is always a hold: there is no action on it.
"""

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from prometheus_client import CollectorRegistry, Counter

MOST_REMEMBERED = 1000
"""The most failures that are remembered as logged; beyond that the oldest would be logged again."""

_log = logging.getLogger(__name__)

Item = TypeVar("Item")


class GuardedItem:
    """The block of one item; a class and not a generator, since ten stand around each change of a Node."""

    __slots__ = ("_guard", "_name", "_part", "error")

    def __init__(self, guard: "Guard", part: str, name: object) -> None:
        self._guard = guard
        self._part = part
        self._name = name
        self.error: Exception | None = None
        """The exception that the block raised, if any."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = error
        self._guard.failed(self._part, str(self._name), error)
        return True


class Guard:
    """The guard of one process, with its counter of failures."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._failures = Counter(
            "paramedic_internal_errors",
            "Unexpected failures, by the part of the process; each is limited to its own item.",
            ("part",),
            registry=registry,
        )
        self._parts: set[str] = set()
        """The parts with a series: Prometheus sees no increase in a series that begins at 1."""
        self._logged: dict[tuple[str, str, type[Exception]], None] = {}

    def item(self, part: str, name: object) -> GuardedItem:
        """Limit an exception of the block to the item of that name; cancellation passes through."""
        if part not in self._parts:
            self._parts.add(part)
            self._failures.labels(part)
        return GuardedItem(self, part, name)

    def handler(
        self, part: str, name_of: Callable[[Item], object], handle: Callable[[Item], None]
    ) -> Callable[[Item], None]:
        """`handle`, with a guard around each call."""

        def guarded(item: Item) -> None:
            with self.item(part, name_of(item)):
                handle(item)

        return guarded

    def failed(self, part: str, name: str, error: Exception) -> None:
        """Count the failure of an item, and log the first of its kind."""
        self._failures.labels(part).inc()
        failure = (part, name, type(error))
        if failure in self._logged:
            return
        while len(self._logged) >= MOST_REMEMBERED:
            del self._logged[next(iter(self._logged))]
        self._logged[failure] = None
        _log.error("failed, and goes on without it", exc_info=error, extra={"part": part, "item": name})
