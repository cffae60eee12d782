"""Guard: what fails of one item of many ends nothing but the work on that item.

A detector answers thousands of incidents from one process. What nobody foresaw of one object must not take
the answers from the others, nor end the process, which would meet the same object again after its restart. So
a guard stands around each item: one answer, one event handler, one line of a list. It is the one place that
catches whatever is raised. It hides nothing: each failure is counted, and the first of its sort is logged
with its traceback. What the item gets instead is for the caller to say, and holds: nobody acts on it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter

MOST_KNOWN = 1000
"""Failures that are remembered as told; of more than these the oldest would be told again."""

_log = logging.getLogger(__name__)

Item = TypeVar("Item")


@dataclass
class Caught:
    """What a block raised."""

    error: Exception | None = None


class Guard:
    """The guard of one process."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._failures = Counter(
            "paramedic_internal_errors",
            "Failures that nobody foresaw, by the part of the process; each kept to its own item.",
            ("part",),
            registry=registry,
        )
        self._told: dict[tuple[str, str, type[Exception]], None] = {}

    @contextmanager
    def item(self, part: str, name: object) -> Iterator[Caught]:
        """Keep what the block raises to the item of that name; cancellation goes through."""
        caught = Caught()
        try:
            yield caught
        except Exception as error:  # noqa: BLE001  what nobody foresaw has no name; see above why it ends here
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
        if failure in self._told:
            return
        while len(self._told) >= MOST_KNOWN:
            del self._told[next(iter(self._told))]
        self._told[failure] = None
        _log.error("failed, and goes on without it", exc_info=error, extra={"part": part, "item": name})
