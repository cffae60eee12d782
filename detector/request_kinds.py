"""RequestKinds: a watch for each kind of remediation request that a check names.

A kind is watched from the moment that it is named, and for as long as the process lives: requests of a kind
that no check names any more are still ours to remove. A kind that cannot be read, because it is not served
or we may not, is tried again for as long as a check names it. It keeps its checks from acting; what they say
of their targets, and cleaning up, does not depend on it.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial

from health.remediation_request import RemediationRequest
from kube.discovery import Discovery
from kube.errors import Forbidden, KindUnknown, KubernetesError
from kube.record import Change
from kube.reflector import Reflector
from kube.resource import Resource
from kube.transport import Transport
from runtime.insisting import insist
from runtime.problems import Problems

RequestKind = tuple[str, str]
"""apiVersion and kind."""

Notify = Callable[[RequestKind, Change[RemediationRequest]], None]

NOT_YET = "they were not read completely yet"


class _Watch:
    """The watch of one kind, or why there is none."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.source: Reflector[RemediationRequest] | None = None
        self.refusal = ""
        """Why the API server does not let us read it; "" where it does, or was not asked yet."""
        self.is_served = True
        self.was_tried = asyncio.Event()

    def problem(self, limit: timedelta) -> str:
        """Why what is known of its requests must not be acted on."""
        if self.source is None or not self.source.synced:
            return self.refusal or NOT_YET
        age = self.source.age()
        return "" if age is not None and age <= limit else self.source.problem or NOT_YET


class RequestKinds:
    """All watches of requests of one cluster."""

    def __init__(
        self, transport: Transport, notify: Notify, changed: Callable[[], None], problems: Problems
    ) -> None:
        self._transport = transport
        self._discovery = Discovery(transport)
        self._notify = notify
        self._changed = changed
        self._problems = problems
        self._watches: dict[RequestKind, _Watch] = {}

    def name(self, kinds: Iterable[RequestKind], tasks: asyncio.TaskGroup) -> None:
        """Watch these kinds; give up those that are named no more and could never be read."""
        named = frozenset(kinds)
        for kind in named - self._watches.keys():
            watch = self._watches[kind] = _Watch()
            watch.task = tasks.create_task(self._run(kind, watch))
        for kind in self._watches.keys() - named:
            watch = self._watches[kind]
            if watch.source is None and watch.task is not None:
                watch.task.cancel()
                del self._watches[kind]
                self._problems.report(_part(kind), "")

    async def wait_tried(self) -> None:
        """Return when each kind was read completely, or could not be at the first try."""
        for watch in list(self._watches.values()):
            await watch.was_tried.wait()

    def problem(self, kinds: Iterable[RequestKind], limit: timedelta) -> str:
        """Why no check over these kinds may act now; "" if it may."""
        for kind in sorted(kinds):
            watch = self._watches.get(kind)
            problem = watch.problem(limit) if watch else NOT_YET
            if problem:
                return f"requests of kind {kind[1]}: {problem}"
        return ""

    def refusal(self, kinds: Iterable[RequestKind]) -> str:
        """What the API server said where it does not let us read one of these kinds; "" if it does."""
        watches = [self._watches.get(kind) for kind in sorted(kinds)]
        return next((watch.refusal for watch in watches if watch and watch.refusal), "")

    def served(self, kinds: Iterable[RequestKind]) -> frozenset[RequestKind]:
        """Those that the API server serves, as far as we know; the others have no requests."""
        return frozenset(kind for kind in kinds if kind not in self._watches or self._watches[kind].is_served)

    async def _run(self, kind: RequestKind, watch: _Watch) -> None:
        # What is wrong with one kind is said of its checks; see `_open` for what concerns the process.
        resource = await insist(_part(kind), lambda: self._open(kind, watch), (KubernetesError,), Problems())
        watch.source = Reflector(
            self._transport, resource, RemediationRequest, notify=partial(self._notify, kind)
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watch.source.run())
            await watch.source.wait_synced()
            watch.was_tried.set()
            self._changed()

    async def _open(self, kind: RequestKind, watch: _Watch) -> Resource:
        """Where the kind is served, if we may list it."""
        try:
            resource = await self._discovery.resource(*kind)
            await self._transport.request("GET", resource.path(), query=(("limit", "1"),))
        except KubernetesError as error:
            self._refused(kind, watch, error)
            raise
        self._problems.report(_part(kind), "")
        watch.refusal, watch.is_served = "", True
        return resource

    def _refused(self, kind: RequestKind, watch: _Watch, error: KubernetesError) -> None:
        if isinstance(error, Forbidden):
            # A right that is missing is a fault of the installation, not of the check.
            self._problems.report(_part(kind), error.message)
        watch.was_tried.set()
        watch.is_served = not isinstance(error, KindUnknown)
        refusal = error.message if isinstance(error, Forbidden | KindUnknown) else ""
        if refusal != watch.refusal:
            watch.refusal = refusal
            self._changed()


def _part(kind: RequestKind) -> str:
    return f"requests of kind {kind[1]} ({kind[0]})"
