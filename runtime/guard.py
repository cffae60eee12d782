"""Guard: a failure at one item of many ends only the work on that item.

A detector answers thousands of incidents from one process. An unexpected error at one object must not stop
the answers for others, nor end the process, which would read the same object again after a restart. So a
guard stands around each item: one answer, one event handler, one line of a list. It is the only place that
catches every exception. Each failure is counted, and the first of its kind is logged with its traceback. The
caller decides the result of a failed item, which is always a hold: there is no action on it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter

MOST_REMEMBERED = 1000
"""The most failures that are remembered as logged; beyond that the oldest would be logged again."""

_log = logging.getLogger(__name__)

Item = TypeVar("Item")


@dataclass
class Caught:
    """The exception that a block raised, if any."""

    error: Exception | None = None


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

    @contextmanager
    def item(self, part: str, name: object) -> Iterator[Caught]:
        """Limit an exception of the block to the item of that name; cancellation passes through."""
        if part not in self._parts:
            self._parts.add(part)
            self._failures.labels(part)
        caught = Caught()
        try:
            yield caught
        except Exception as error:  # noqa: BLE001  any unexpected error, see above
            caught.error = error
            self._failed(part, str(name), error)

    def handler(
        self, part: str, name_of: Callable[[Item], object], handle: Callable[[Item], None]
    ) -> Callable[[Item], None]:
        """`handle`, with a guard around each call."""

        def guarded(item: Item) -> None:
            with self.item(part, name_of(item)):
                handle(item)

        return guarded

    def _failed(self, part: str, name: str, error: Exception) -> None:
        self._failures.labels(part).inc()
        failure = (part, name, type(error))
        if failure in self._logged:
            return
        while len(self._logged) >= MOST_REMEMBERED:
            del self._logged[next(iter(self._logged))]
        self._logged[failure] = None
        _log.error("failed, and goes on without it", exc_info=error, extra={"part": part, "item": name})
