"""KindWatch: watches one kind of objects that the API server may not serve, or not let us read.

CRDs and rights come and go at run time. A kind that is refused or not served is tried again every second or
so; a kind that is no longer served has no objects. Where the detector may not list or watch a kind, a
fallback may read it; the list is then tried again as often as the fallback reads.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Generic, Protocol

from detector.feeds.source import all_tried, unread
from health.gate.check_holds import UnreadSource
from kube.connection import ClusterConnection
from kube.discovery import KindName
from kube.errors import KindUnknown, KubernetesError, retry_after
from kube.record import Change, RecordT
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings, ReflectorSettings, patient
from kube.resource import Resource
from runtime.problems import Problems

Kind = tuple[str, str]
"""apiVersion and kind."""

LOOK_AGAIN_SECONDS = 0.5
SOON = timedelta(seconds=1.5)
"""A newly installed kind is noticed within two seconds."""


class Fallback(Protocol):
    """Reads the needed objects of a kind that we may not list or watch."""

    def every(self) -> timedelta:
        """The interval of its reads, at which the list is tried again, too."""

    async def read(self, kind: Kind, resource: Resource) -> None:
        """Read them; raises KubernetesError if the fallback cannot read them either."""

    async def wait_due(self, kind: Kind) -> None:
        """Return when the next read is due."""

    def age(self, kind: Kind) -> timedelta | None:
        """Age of the oldest of them; None if they were never all read."""


@dataclass(frozen=True, kw_only=True)
class KindSubscription(Generic[RecordT]):
    """The role and type of the watched objects, and the callbacks."""

    connection: ClusterConnection
    record: type[RecordT]
    name: str
    """The role of these objects, such as "requests"."""
    notify: Callable[[Kind, Change[RecordT]], None]
    changed: Callable[[Kind], None]
    """Called when the kind as a whole changed, such as its rights."""
    problems: Problems
    """Problems of kinds, not of the process: each holds only the checks that name the kind."""
    fallback: Fallback | None = None
    reflectors: CurrentSettings = patient

    def eager(self) -> ReflectorSettings:
        """`reflectors`, with short waits for kinds that are not served, and for rights."""
        settings, granted = self.reflectors(), self.fallback.every() if self.fallback else SOON
        waits = settings.waits
        soon = replace(waits, absent=min(waits.absent, SOON), forbidden=min(waits.forbidden, granted))
        return replace(settings, waits=soon)

    def unread(self, kind: Kind) -> UnreadSource:
        """The objects of a kind that was never read."""
        return UnreadSource(f"{self.name} of kind {kind[1]}")

    def part(self, kind: Kind) -> str:
        """The role and the kind, for logs and problems."""
        return f"{self.name} of kind {kind[1]} ({kind[0]})"


class KindWatch(Generic[RecordT]):
    """The watch of one kind, and what the fallback reads while we may not list or watch it."""

    def __init__(self, subject: KindSubscription[RecordT], kind: Kind) -> None:
        self._subject = subject
        self._kind = kind
        self.resource: Resource | None = None
        """Known only of kinds with a fallback."""
        self.source = Reflector(
            subject.connection.transport,
            KindName(*kind),
            subject.record,
            notify=partial(subject.notify, kind),
            settings=subject.eager,
        )
        self._failure: KubernetesError | None = None
        """The error of the latest read of the fallback."""
        self.was_tried = asyncio.Event()
        """Set when it was read completely, or the first try failed."""

    @property
    def is_served(self) -> bool:
        """True if the API server served the kind at the last try."""
        # Where we may only get, no list is answered 404.
        return self.source.is_served and not isinstance(self._failure, KindUnknown)

    @property
    def has_objects(self) -> bool:
        """True if it was read and is still served: objects of it are known, or may appear."""
        return bool(self.source.store) or (self.source.synced and self.source.is_served)

    @property
    def rejection(self) -> str:
        """Why the API server refuses to let us read it; "" if it does not, or was not asked yet."""
        if not self.is_served:
            api_version, kind = self._kind
            return f"the API server serves no kind {kind} in {api_version}"
        is_rejected = self.source.is_refused and not self.source.synced
        return (self.source.problem or "") if is_rejected else ""

    @property
    def is_refused(self) -> bool:
        """True if we may not list or watch it, as of the last try."""
        return self.source.is_refused and self.is_served

    def age(self) -> timedelta | None:
        """Age of the cache; None if it is not complete."""
        if self.is_refused and self._subject.fallback is not None:
            return self._subject.fallback.age(self._kind)
        return self.source.age() if self.source.synced and self.is_served else None

    def unread(self, limit: timedelta) -> UnreadSource | None:
        """Why the cache must not be acted on; None if it may."""
        name = self._subject.unread(self._kind).name
        if self.rejection:
            return UnreadSource(name, self.rejection)
        found = unread(self.source, limit)
        return None if found is None else replace(found, name=name)

    async def run(self) -> None:
        """Watch, and report until cancelled: no event announces that a kind is served or refused now."""
        subject, reported = self._subject, (False, "", False)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.source.run())
            # One object can be listed where all cannot, for example if one fails to convert between versions.
            await all_tried([self.source])
            while True:
                is_polled = subject.fallback is not None and await self._fall_back(subject.fallback)
                problem = self.rejection or (None if self.source.synced else self.source.problem)
                if self._failure is not None:
                    problem = self._failure.message
                subject.problems.report(subject.part(self._kind), None if is_polled else problem)
                self.was_tried.set()
                state = self.source.synced, self.rejection, self.is_refused
                if state != reported:
                    reported = state
                    subject.changed(self._kind)
                if is_polled and subject.fallback is not None:
                    await subject.fallback.wait_due(self._kind)
                wait = retry_after(self._failure) if self._failure else timedelta()
                await asyncio.sleep(LOOK_AGAIN_SECONDS + wait.total_seconds())

    async def _fall_back(self, fallback: Fallback) -> bool:
        """Read with the fallback while the list or watch is refused; returns whether that succeeded."""
        discovery, failure, is_polled = self._subject.connection.discovery, None, False
        if self.source.is_served:
            try:
                self.resource = await discovery.resource(*self._kind)
                if self.source.is_refused:
                    await fallback.read(self._kind, self.resource)
                    is_polled = True
            except KubernetesError as error:
                failure = error
        self._failure = failure
        if not self.is_served:
            discovery.forget(self._kind[0])
        return is_polled


class KindWatches(Generic[RecordT]):
    """The watches of either all requests or all templates of one cluster."""

    def __init__(self, subject: KindSubscription[RecordT]) -> None:
        self._subject = subject
        self._watches: dict[Kind, KindWatch[RecordT]] = {}
        self._tasks: dict[Kind, asyncio.Task[None]] = {}

    def name(self, kinds: Iterable[Kind], tasks: asyncio.TaskGroup) -> None:
        """Watch these kinds; stop watches of kinds that are no longer named and cannot be read."""
        named = frozenset(kinds)
        for kind in named - self._watches.keys():
            watch = self._watches[kind] = KindWatch(self._subject, kind)
            self._tasks[kind] = tasks.create_task(watch.run())
        for kind in self._watches.keys() - named:
            if not self._watches[kind].has_objects:
                self._tasks.pop(kind).cancel()
                self._watches.pop(kind).was_tried.set()  # release those that wait for this kind
                self._subject.problems.report(self._subject.part(kind), None)

    async def wait_tried(self, kinds: Iterable[Kind] | None = None) -> None:
        """Return when each of `kinds`, or every kind, was read completely or its first try failed."""
        wanted = self._watches if kinds is None else kinds
        for watch in [self._watches[kind] for kind in wanted if kind in self._watches]:
            await watch.was_tried.wait()

    def get(self, kind: Kind) -> KindWatch[RecordT] | None:
        """The watch of a kind; None if no check names it."""
        return self._watches.get(kind)

    def unread(self, kinds: Iterable[Kind], limit: timedelta) -> UnreadSource | None:
        """Why checks that name these kinds may not act now; None if they may."""
        watches = ((kind, self._watches.get(kind)) for kind in sorted(kinds))
        found = (watch.unread(limit) if watch else self._subject.unread(kind) for kind, watch in watches)
        return next((unread for unread in found if unread is not None), None)

    def rejection(self, kind: Kind) -> str:
        """Why the API server does not let us read this kind; "" if it does."""
        watch = self._watches.get(kind)
        return watch.rejection if watch else ""

    def is_refused(self, kind: Kind) -> bool:
        """True if we may not list or watch a kind, as of the last try."""
        watch = self._watches.get(kind)
        return watch is not None and watch.is_refused

    def ages(self) -> dict[str, timedelta | None]:
        """Age of the cache of each kind; None if it was never complete."""
        return {self._subject.part(kind): watch.age() for kind, watch in self._watches.items()}

    def served(self, kinds: Iterable[Kind]) -> frozenset[Kind]:
        """The kinds that the API server serves as of the last try; the others have no objects."""
        return frozenset(kind for kind in kinds if kind not in self._watches or self._watches[kind].is_served)
