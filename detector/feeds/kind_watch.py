"""KindWatch: watches one kind of objects that the API server may not serve, or not let us read.

CRDs and rights come and go at run time. A kind that cannot be read is tried again every second or so; a kind
that was read and is no longer served has no objects. Where the detector may not list or watch a kind, a
fallback may read it; the list is then tried again after each read of the fallback.
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
from kube.errors import KindUnknown, KubernetesError, RequestRefused, retry_after
from kube.record import Change, RecordT
from kube.reflector import Reflector
from kube.reflector_settings import CurrentSettings, ReflectorSettings, patient
from kube.resource import Resource
from kube.server_clock import wall_clock
from runtime.problems import BACKOFF, Problems, retry_forever

Kind = tuple[str, str]
"""apiVersion and kind."""

LOOK_AGAIN_SECONDS = 1.0
SOON = timedelta(seconds=1.5)
"""A newly installed kind is noticed within two seconds."""


class Fallback(Protocol):
    """Reads the needed objects of a kind that we may not list or watch."""

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
        """`reflectors`, with a short wait for kinds that are not served."""
        settings = self.reflectors()
        waits = settings.waits
        return replace(settings, waits=replace(waits, absent=min(waits.absent, SOON)))

    def unread(self, kind: Kind) -> UnreadSource:
        """The objects of a kind that was never read."""
        return UnreadSource(f"{self.name} of kind {kind[1]}")

    def part(self, kind: Kind) -> str:
        """The role and the kind, for logs and problems."""
        return f"{self.name} of kind {kind[1]} ({kind[0]})"


class KindWatch(Generic[RecordT]):
    """The watch of one kind, or the reason why it cannot be watched."""

    def __init__(self, subject: KindSubscription[RecordT], kind: Kind) -> None:
        self._subject = subject
        self._kind = kind
        self._rejection = ""
        self._unread = subject.unread(kind)
        """Its last error before the first list."""
        self._is_served = True
        self._is_refused = False
        self.resource: Resource | None = None
        self.source: Reflector[RecordT] | None = None
        self.was_tried = asyncio.Event()
        """Set when it was read completely, or the first try failed."""

    @property
    def is_served(self) -> bool:
        """True if the API server served the kind at the last try."""
        return self._is_served if self.source is None else self.source.is_served

    @property
    def rejection(self) -> str:
        """Why the API server refuses to let us read it; "" if it does not, or was not asked yet."""
        if self.source is None:
            return self._rejection
        return "" if self.source.is_served else self._not_served

    @property
    def is_refused(self) -> bool:
        """True if we may not list or watch it, as of the last try."""
        is_read = self.source is not None and self.source.synced
        return self.source.is_refused if self.source is not None and is_read else self._is_refused

    def age(self) -> timedelta | None:
        """Age of the cache; None if it was never complete."""
        if self.is_refused and self._subject.fallback is not None:
            return self._subject.fallback.age(self._kind)
        return self.source.age() if self.source is not None and self.source.synced else None

    def unread(self, limit: timedelta) -> UnreadSource | None:
        """Why the cache must not be acted on; None if it may."""
        if self.rejection:
            return UnreadSource(self._unread.name, self.rejection)
        if self.source is None:
            return self._unread
        found = unread(self.source, limit)
        return None if found is None else replace(found, name=self._unread.name)

    @property
    def _not_served(self) -> str:
        api_version, kind = self._kind
        return f"the API server serves no kind {kind} in {api_version}"

    async def run(self) -> None:
        subject = self._subject
        resource = await retry_forever(
            subject.part(self._kind),
            self._open,
            (KubernetesError,),
            subject.problems,
            replace(BACKOFF, longest=SOON),
        )
        notify = partial(subject.notify, self._kind)
        self.source = Reflector(
            subject.connection.transport, resource, subject.record, notify=notify, settings=subject.eager
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.source.run())
            # One object can be listed where all cannot, for example if one fails to convert between versions.
            await all_tried([self.source])
            subject.problems.report(subject.part(self._kind), self.source.problem)
            self.was_tried.set()
            await self.source.wait_synced()
            subject.changed(self._kind)
            tasks.create_task(self._follow_rights(self.source, resource))
            reported = self.rejection, self.is_refused
            while True:
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
                if reported != (self.rejection, self.is_refused):
                    reported = self.rejection, self.is_refused
                    subject.changed(self._kind)

    async def _follow_rights(self, source: Reflector[RecordT], resource: Resource) -> None:
        """Use the fallback while the watch is refused: rights may also be taken away at run time."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            if not source.is_refused:
                self._subject.problems.report(self._subject.part(self._kind), None)
                continue
            try:
                await self._fall_back(resource, RequestRefused(source.problem or ""))
            except KubernetesError as error:
                self._subject.problems.report(self._subject.part(self._kind), error.message)
                self._refused(error)
                await asyncio.sleep(retry_after(error).total_seconds())

    async def _open(self) -> Resource:
        """The resource of the kind, once we may list it; until then the fallback reads it."""
        connection = self._subject.connection
        try:
            resource = self.resource = await connection.discovery.resource(*self._kind)
            while True:
                try:
                    await connection.transport.request("GET", resource.path(), query=(("limit", "1"),))
                except RequestRefused as error:
                    self._is_refused = True
                    await self._fall_back(resource, error)
                else:
                    break
        except KubernetesError as error:
            self._refused(error)
            raise
        self._rejection, self._is_served = "", True
        return resource

    async def _fall_back(self, resource: Resource, error: RequestRefused) -> None:
        """Read with the fallback, and wait until the next read is due; raises `error` without a fallback."""
        fallback = self._subject.fallback
        if fallback is None:
            raise error
        await fallback.read(self._kind, resource)
        self._subject.problems.report(self._subject.part(self._kind), None)
        self.was_tried.set()
        await fallback.wait_due(self._kind)

    def _refused(self, error: KubernetesError) -> None:
        self.was_tried.set()
        self._is_served = not isinstance(error, KindUnknown)
        self._unread = self._unread.failing(error.message, wall_clock())
        rejection = error.message if isinstance(error, RequestRefused) else ""
        if not self._is_served:
            # Where we may only get, no list returns 404, so discovery still has the kind as served.
            self._subject.connection.discovery.forget(self._kind[0])
            rejection, self._is_refused = self._not_served, False
        if rejection != self._rejection:
            self._rejection = rejection
            self._subject.changed(self._kind)


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
