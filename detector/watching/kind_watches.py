"""KindWatches: a watch for each kind of objects that a check names: requests, and templates.

A kind is watched from the moment that it is named, and for as long as the process lives: requests of a kind
that no check names any more are still ours to remove. A kind that cannot be read, because it is not served
or we may not, is tried again for as long as a check names it. It keeps its checks from acting; what they say
of their targets, and cleaning up, does not depend on it.
"""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Generic

from detector.watching.kind_watch import Kind, KindWatch, Subject
from detector.watching.source import THEY_NOT_YET
from kube.record import RecordT


class KindWatches(Generic[RecordT]):
    """All watches of one sort of objects of one cluster."""

    def __init__(self, subject: Subject[RecordT]) -> None:
        self._subject = subject
        self._watches: dict[Kind, KindWatch[RecordT]] = {}
        self._tasks: dict[Kind, asyncio.Task[None]] = {}

    def name(self, kinds: Iterable[Kind], tasks: asyncio.TaskGroup) -> None:
        """Watch these kinds; give up those that are named no more and could never be read."""
        named = frozenset(kinds)
        for kind in named - self._watches.keys():
            watch = self._watches[kind] = KindWatch(self._subject, kind)
            self._tasks[kind] = tasks.create_task(watch.run())
        for kind in self._watches.keys() - named:
            if self._watches[kind].source is None:
                self._tasks.pop(kind).cancel()
                self._watches.pop(kind).was_tried.set()  # nobody waits for what is not tried any more
                self._subject.problems.report(self._subject.part(kind), "")

    async def wait_tried(self, kinds: Iterable[Kind] | None = None) -> None:
        """Return when each of these kinds, or each at all, was read completely or could not be at first."""
        wanted = self._watches if kinds is None else kinds
        for watch in [self._watches[kind] for kind in wanted if kind in self._watches]:
            await watch.was_tried.wait()

    def get(self, kind: Kind) -> KindWatch[RecordT] | None:
        """The watch of a kind; None if none is named so."""
        return self._watches.get(kind)

    def problem(self, kinds: Iterable[Kind], limit: timedelta) -> str:
        """Why no check over these kinds may act now; "" if it may."""
        for kind in sorted(kinds):
            watch = self._watches.get(kind)
            problem = watch.problem(limit) if watch else THEY_NOT_YET
            if problem:
                return f"{self._subject.name} of kind {kind[1]}: {problem}"
        return ""

    def rejection(self, kind: Kind) -> str:
        """What the API server said where it does not let us read this kind; "" if it does."""
        watch = self._watches.get(kind)
        return watch.rejection if watch else ""

    def is_forbidden(self, kind: Kind) -> bool:
        """Whether we may not list or watch a kind, as far as we know."""
        watch = self._watches.get(kind)
        return watch is not None and watch.is_forbidden

    def ages(self) -> dict[str, timedelta | None]:
        """How old the cache of each kind is; None for one that was never complete."""
        return {self._subject.part(kind): watch.age() for kind, watch in self._watches.items()}

    def served(self, kinds: Iterable[Kind]) -> frozenset[Kind]:
        """Those that the API server serves, as far as we know; the others have no objects."""
        return frozenset(kind for kind in kinds if kind not in self._watches or self._watches[kind].is_served)
