"""A live cache of one kind that survives every fault of the API server and of the network.

It lists, then watches from the list's resourceVersion; after any end of the watch it continues from the last
resourceVersion, or lists again if that is not possible. No change is lost between two lists, because they are
compared. The cache never contains half of a list. Long work yields to the event loop between two lines of a
watch, and between the changes of two objects of a list; until a list is reported completely, the cache has no
age, so the checks that depend on it are held.

Consistent reads beside the watch prove the age of the cache (`consistent_read`). A watch is asked to end
shortly after the next read is due, because its last bookmark then shows its progress: so every kind costs one
watch, and one read of one object, every 18 s. If a kind is not read in the version that we prefer, that
version is looked for at the end of each watch.

The reactions to the end of a request:

    clean end                            watch again at once; list again if it lags
    refused, reset, cut, HTTP 5xx, 401,  wait, watch again, if the server is not at an earlier version
    no end though it is time for it
    429                                  wait for Retry-After, watch again
    403                                  wait long, watch again: an administrator must grant a role
    404 of a list, confirmed, twice      not served: the cache is empty; wait, list again
    410, an ERROR line, too many         wait, list again
    objects, anything else
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Generic

from kube.consistent_read import LOOK_AGAIN, ConsistentReads, Freshness, confirm_api_server
from kube.decoding import Bookmark, Decoder, ObjectEvent, WatchError
from kube.decoding_thread import decoded
from kube.discovery import Discovery, KindName
from kube.errors import (
    Expired,
    Forbidden,
    KubernetesError,
    Malformed,
    NotFound,
    OverBound,
    ServerFault,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from kube.listing import ObjectList, list_all, selectors
from kube.object_store import ObjectStore
from kube.record import Change, ChangeKind, Key, RecordT
from kube.reflector_settings import CurrentSettings, ReflectorBackoff, ReflectorSettings, patient
from kube.reflector_status import ReflectorState, ReflectorStatus
from kube.resource import Resource, resource_of
from kube.server_clock import monotonic_clock
from kube.status import from_status
from kube.time_slice import TimeSlice
from kube.transport import Query, Transport
from objects.clusters import MANAGEMENT_CLUSTER
from objects.group_kind import ServedKind

__all__ = ["Change", "ChangeKind", "Key", "Reflector", "ReflectorSettings", "ReflectorState"]

_ROUNDING = timedelta(seconds=0.5)

# After these errors the last resourceVersion is still usable.
_RESUMABLE = (Unreachable, ServerFault, TooManyRequests, Unauthorized, Forbidden)


class Reflector(Generic[RecordT]):
    """Keeps `store` equal to the objects of the API server, and reports every change to `notify`.

    `notify` and `on_undecodable` are called between two awaits, when the store shows the change, and must not
    raise. An object that stops decoding is first reported to `on_undecodable` and then as DELETED, because
    its old record must not be acted on: check `undecodable` before believing that it is gone. When it decodes
    again or is gone, `on_undecodable` is called without an error, after the changes. A kind that is not
    served counts as synced, as an empty list. With `name` the reflector follows that one object, and needs no
    right on another.
    """

    def __init__(  # noqa: PLR0913  each is chosen by the caller
        self,
        transport: Transport,
        resource: Resource | KindName | ServedKind,
        decode: type[RecordT],
        *,
        namespace: str = "",
        label_selector: str | None = None,
        name: str | None = None,
        notify: Callable[[Change[RecordT]], None],
        on_undecodable: Callable[[Key, str], None] | None = None,
        clock: Callable[[], float] = monotonic_clock,
        settings: CurrentSettings = patient,
        cluster: str = MANAGEMENT_CLUSTER,
    ) -> None:
        self._transport = transport
        self._resource = resource
        self._namespace = namespace
        self._path = ""  # "" until discovery has found it
        self._decoder = Decoder(decode)
        self._selectors = selectors(label_selector, name)
        self._notify = notify
        self._clock = clock
        self._settings = settings
        full_name = resource.resource_name if isinstance(resource, ServedKind) else resource.full_name
        self.name = _in_words(full_name, namespace, self._selectors, cluster)
        self._object_store: ObjectStore[RecordT] = ObjectStore(
            self.name, on_undecodable, clock, transport.room
        )
        self._status = ReflectorStatus(self.name)
        self._freshness = Freshness(clock)
        self._reads = ConsistentReads(
            transport, self._freshness, lambda: settings().watching.proof_every, clock, selectors(name=name)
        )
        self._backoff = ReflectorBackoff(lambda: settings().waits)
        self._must_list = True
        self._list_requested_at = 0.0  # time of the request for the last list, successful or not
        self._list_due = 0.0
        self._has_failed = False  # whether another server may answer now
        self._missed = 0  # confirmed 404s since the last list
        self._is_served = True
        self._is_list_half_reported = False  # whether changes of a list are still to be reported
        self.proven_before: float | None = None
        """As of when the cache was true before the change that is reported; None: it never was."""

    @property
    def store(self) -> Mapping[Key, RecordT]:
        """The cache, as a read-only view that follows it."""
        return self._object_store.records

    @property
    def undecodable(self) -> Mapping[Key, str]:
        """Objects that exist but do not decode, with the reason; a read-only view."""
        return self._object_store.undecodable

    @property
    def synced(self) -> bool:
        """True once there is a complete list; False again until the first list of a kind that appeared."""
        return self._status.synced

    async def wait_synced(self) -> None:
        await self._status.wait_synced()

    @property
    def is_served(self) -> bool:
        """True if the API server served the kind at the last request, and before the first one."""
        return self._is_served

    @property
    def is_refused(self) -> bool:
        """True if the server refused us (400, 403 or 422) and has accepted no watch since."""
        return self._status.is_refused

    @property
    def state(self) -> ReflectorState:
        return self._status.state

    @property
    def problem(self) -> str | None:
        """One sentence about the last failure; None while a watch is open, or is only outdated."""
        return self._status.problem

    @property
    def unproven_since(self) -> datetime | None:
        """The latest time at which the cache was proven true, or else the first error; None before that."""
        return self._freshness.proven_at or self._status.failing_since

    def age(self) -> timedelta | None:
        """The time since the cache was proven true; None without a proof, or during the report of a list.

        It counts from the sending of a consistent read, such as a complete list, not from its answer.
        """
        return None if self._is_list_half_reported else self._freshness.age()

    async def run(self) -> None:
        while True:
            try:
                await self._go_on()
            except KubernetesError as error:
                wait = self._backoff.after(error)
                await self._note(error)
                await asyncio.sleep(wait.total_seconds())

    async def _go_on(self) -> None:
        if self._has_failed and not self._must_list:
            await self._read_anew()
        if self._must_list or self._clock() >= self._list_due:
            await self._list()
        async with self._reads.sent_meanwhile(self._path):
            await self._watch_once()
            while not self._must_list and self._clock() < self._list_due:
                await self._watch_once()

    async def _watch_once(self) -> None:
        await self._watch()
        if await self._is_liked_better_elsewhere():
            self._path, self._must_list = "", True

    async def _read_anew(self) -> None:
        """Check that the server, which may be another one, has reached the version of the one before."""
        try:
            await self._reads.read(self._path)
        except Expired:
            self._must_list = True
        self._has_failed = False

    async def _list(self) -> None:
        self._status.listing()
        self._list_requested_at = self._clock()
        listed, changes = await self._list_all(), list[Change[RecordT]]()
        time_slice = TimeSlice(self._clock)
        for step in self._object_store.replacing(listed):
            changes += step
            await time_slice.yield_if_over()
        self._must_list = False
        self._list_due = self._clock() + self._settings().draw_relist().total_seconds()
        self._missed = 0
        self._is_served = True
        self.proven_before = self._freshness.as_of
        # A list is as old as its first page.
        self._freshness.listed(listed.resource_version, self._list_requested_at)
        await self._report_list(changes)

    async def _list_all(self) -> ObjectList[RecordT]:
        try:
            self._path = self._path or await self._find()
            return await list_all(
                self._transport, self._path, self._decoder, self._selectors, self._settings().paging
            )
        except OverBound:
            self._object_store.note_overflow()
            raise
        except NotFound:
            await confirm_api_server(self._transport)
            self._missed += 1
            raise

    async def _find(self) -> str:
        found = self._resource
        if isinstance(found, ServedKind):
            return (await Discovery(self._transport).first_served(found)).path(self._namespace)
        if isinstance(found, KindName):
            found = await Discovery(self._transport).resource(found.api_version, found.kind)
            if not self._is_served:
                self._is_served = True
                self._status.incomplete()  # an empty list was complete only for an unserved kind
        return found.path(self._namespace)

    async def _is_liked_better_elsewhere(self) -> bool:
        """True if a version that we prefer is served now; asked only if we use another one."""
        found = self._resource
        if not isinstance(found, ServedKind) or self._path == resource_of(found).path(self._namespace):
            return False
        return await self._find() != self._path

    async def _watch(self) -> None:
        watching = self._settings().watching
        lasting = watching.lasting(self._reads.until_due)
        query = watch_query(self._selectors, self._freshness.position, lasting)
        async with self._transport.stream(self._path, query, silence=watching.silent_for(lasting)) as lines:
            accepted = self._clock()
            self._status.accepted()
            try:
                is_left = await self._follow_while_needed(lines, watching.proof_every)
            finally:
                lasted = timedelta(seconds=self._clock() - accepted)
                is_steady = lasted >= min(self._settings().steady, lasting / 2)
                if is_steady:
                    self._backoff.reset()
        if is_left:
            return
        if not is_steady:
            raise Unreachable(f"The watch of {self._path} ended after {lasted}.", path=self._path)
        if self._reads.failure is not None:
            raise self._reads.failure
        # Its last bookmark was of an earlier version than the one that was read before the watch opened.
        self._must_list = lasted >= lasting - _ROUNDING and self._freshness.was_behind(accepted)

    async def _follow_while_needed(self, lines: AsyncIterator[bytes], proof_every: timedelta) -> bool:
        """Follow a watch that was opened for proofs at this interval.

        Returns True if it was left because the settings now ask for more frequent proofs: its last bookmark
        would come too late.
        """
        following = asyncio.ensure_future(self._follow(lines))
        try:
            while not following.done() and self._settings().watching.proof_every >= proof_every:
                await asyncio.wait((following,), timeout=LOOK_AGAIN.total_seconds())
        finally:
            is_left = following.cancel()
            await asyncio.wait((following,))
        if not is_left:
            following.result()
        return is_left

    async def _follow(self, lines: AsyncIterator[bytes]) -> None:
        time_slice = TimeSlice(self._clock)
        async for line in lines:
            await time_slice.yield_if_over()  # a buffer may hold thousands of lines
            match await decoded(self._decoder.line, line):
                case ObjectEvent() as event:
                    changes = self._object_store.apply(event)
                    self.proven_before = self._freshness.as_of
                    self._freshness.reached(event.resource_version)  # not before the store has the object
                    self._report_changes(changes)
                case Bookmark(resource_version):
                    self._freshness.reached(resource_version)
                case WatchError(status):
                    self._must_list = True
                    raise from_status(f"The watch of {self._path}", self._path, status.code, status)

    def _report_changes(self, changes: Iterable[Change[RecordT]]) -> None:
        for change in changes:
            self._notify(change)
        for _ in self._object_store.report_resolved():
            pass

    async def _report_list(self, changes: Iterable[Change[RecordT]]) -> None:
        """Report the changes of a complete list, in pieces if that takes long.

        A replaced object is two changes, which are never separated: it would look deleted meanwhile.
        """
        is_first = not self.synced
        self._status.listed()
        time_slice, before = TimeSlice(self._clock), None
        for _ in self._object_store.report_undecodable():
            await self._yield_if_over(time_slice, is_first=is_first)
        for change in changes:
            if change.key != before:
                await self._yield_if_over(time_slice, is_first=is_first)
            self._notify(change)
            before = change.key
        for _ in self._object_store.report_resolved():
            await self._yield_if_over(time_slice, is_first=is_first)
        self._is_list_half_reported = False
        self._status.complete()

    async def _yield_if_over(self, time_slice: TimeSlice, *, is_first: bool) -> None:
        """Let other tasks run if the slice is over; they see that the list is not reported completely."""
        if not time_slice.is_over:
            return
        self._is_list_half_reported = True
        if is_first:
            self._status.incomplete()
        await time_slice.yield_if_over()

    async def _note(self, error: KubernetesError) -> None:
        if not isinstance(error, _RESUMABLE) or isinstance(error, Malformed):
            self._must_list = True
        self._has_failed = True
        if isinstance(error, NotFound):
            self._path = ""  # another version may be served; ask discovery again
        # An empty cache has consequences, and a single 404 of a starting server proves nothing.
        if isinstance(error, NotFound) and self._missed >= (2 if self._object_store.records else 1):
            await self._become_absent(error)
        elif isinstance(error, Expired):
            self._status.expired()  # a normal end for a kind without changes: list again
        else:
            self._status.waiting(error)

    async def _become_absent(self, error: NotFound) -> None:
        self._is_served = False
        changes = self._object_store.clear()
        self.proven_before = self._freshness.as_of
        self._freshness.listed("", self._list_requested_at)
        self._status.absent(error)
        await self._report_list(changes)


def _in_words(full_name: str, namespace: str, selectors: Query, cluster: str) -> str:
    """The watched kind in words, for messages."""
    within = f" in {namespace}" if namespace else ""
    selected = f" with {' and '.join(selector for _, selector in selectors)}" if selectors else ""
    of = f" of {cluster}" if cluster else ""
    return f"{full_name}{of}{within}{selected}"


def watch_query(selectors: Query, resource_version: str, lasting: timedelta) -> Query:
    """The query of a watch that the server is asked to end after `lasting`, a whole number of seconds."""
    return [
        ("watch", "1"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", resource_version),
        ("timeoutSeconds", str(round(lasting.total_seconds()))),
        *selectors,
    ]
