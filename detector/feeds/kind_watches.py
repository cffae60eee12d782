"""KindWatches: the watches of one role of objects, such as requests, by kind.

A kind is watched from the moment that a check names it, and for as long as the process lives, because
requests of a kind that no check names any more still have to be removed. A kind that cannot be read, because
it is not served or forbidden, is tried again while a check names it.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Generic

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatch
from detector.feeds.source import THEY_NOT_YET
from kube.record import Change, RecordT


class KindHandlers(Generic[RecordT]):
    """The handlers of one role of objects; they are added before the kinds are watched."""

    def __init__(self) -> None:
        self._of_objects: list[Callable[[Kind, Change[RecordT]], None]] = []
        self._of_kinds: list[Callable[[Kind], None]] = []

    def add_object_handler(self, handler: Callable[[Kind, Change[RecordT]], None]) -> None:
        self._of_objects.append(handler)

    def add_kind_handler(self, handler: Callable[[Kind], None]) -> None:
        """Call `handler` when a kind as a whole changes, such as the rights to it."""
        self._of_kinds.append(handler)

    def object_changed(self, kind: Kind, change: Change[RecordT]) -> None:
        for handler in self._of_objects:
            handler(kind, change)

    def kind_changed(self, kind: Kind) -> None:
        for handler in self._of_kinds:
            handler(kind)


class KindWatches(Generic[RecordT]):
    """The watches of either all requests or all templates of one cluster."""

    def __init__(self, subject: KindSubscription[RecordT]) -> None:
        self._subject = subject
        self._watches: dict[Kind, KindWatch[RecordT]] = {}
        self._tasks: dict[Kind, asyncio.Task[None]] = {}

    def name(self, kinds: Iterable[Kind], tasks: asyncio.TaskGroup) -> None:
        """Watch these kinds; stop watches of kinds that are no longer named and were never readable."""
        named = frozenset(kinds)
        for kind in named - self._watches.keys():
            watch = self._watches[kind] = KindWatch(self._subject, kind)
            self._tasks[kind] = tasks.create_task(watch.run())
        for kind in self._watches.keys() - named:
            if self._watches[kind].source is None:
                self._tasks.pop(kind).cancel()
                self._watches.pop(kind).was_tried.set()  # release those that wait for this kind
                self._subject.problems.report(self._subject.part(kind), "")

    async def wait_tried(self, kinds: Iterable[Kind] | None = None) -> None:
        """Return when each of `kinds`, or every kind, was read completely or its first try failed."""
        wanted = self._watches if kinds is None else kinds
        for watch in [self._watches[kind] for kind in wanted if kind in self._watches]:
            await watch.was_tried.wait()

    def get(self, kind: Kind) -> KindWatch[RecordT] | None:
        """The watch of a kind; None if no check names it."""
        return self._watches.get(kind)

    def problem(self, kinds: Iterable[Kind], limit: timedelta) -> str:
        """Why checks that name these kinds may not act now; "" if they may."""
        for kind in sorted(kinds):
            watch = self._watches.get(kind)
            problem = watch.problem(limit) if watch else THEY_NOT_YET
            if problem:
                return f"{self._subject.name} of kind {kind[1]}: {problem}"
        return ""

    def rejection(self, kind: Kind) -> str:
        """Why the API server does not let us read this kind; "" if it does."""
        watch = self._watches.get(kind)
        return watch.rejection if watch else ""

    def is_forbidden(self, kind: Kind) -> bool:
        """True if we may not list or watch a kind, as of the last try."""
        watch = self._watches.get(kind)
        return watch is not None and watch.is_forbidden

    def ages(self) -> dict[str, timedelta | None]:
        """Age of the cache of each kind; None if it was never complete."""
        return {self._subject.part(kind): watch.age() for kind, watch in self._watches.items()}

    def served(self, kinds: Iterable[Kind]) -> frozenset[Kind]:
        """The kinds that the API server serves as of the last try; the others have no objects."""
        return frozenset(kind for kind in kinds if kind not in self._watches or self._watches[kind].is_served)
