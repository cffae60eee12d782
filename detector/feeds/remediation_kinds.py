"""RemediationKinds: the watches of requests and templates by kind, and what is known of each kind.

A kind is watched from the moment that a check names it, and for as long as the process lives, because
requests of a kind that no check names any more still have to be removed. A kind that cannot be read, because
it is not served or refused, is tried again while a check names it. It holds the acts of its checks, but
neither their verdicts nor the cleanup. Templates that we may read but not list are polled.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Generic, cast

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatch
from detector.feeds.source import THEY_NOT_YET
from detector.feeds.template_polling import EVERY, TemplatePolling
from health.check.template_validity import Place, Template, TemplateKind
from health.kinds.request_kinds import why_no_requests_of
from health.model.references import TemplateReference
from health.model.remediation_request import RemediationRequest
from kube.connection import ClusterConnection
from kube.record import Change, RecordT
from kube.reflector_settings import CurrentSettings, patient
from kube.resource import Resource
from runtime.problems import Problems


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


class RemediationKinds:
    """The kinds of requests and templates of one cluster."""

    def __init__(self, connection: ClusterConnection, reflectors: CurrentSettings = patient) -> None:
        self._reflectors = reflectors
        # A problem of a kind holds only the checks that name it, so the detector is still ready.
        self._problems = Problems("checks are held")
        self.of_requests = KindHandlers[RemediationRequest]()
        self.of_templates = KindHandlers[Template]()
        self.polling = TemplatePolling(connection, self.of_templates.kind_changed, every=self._poll_every)
        self.requests = KindWatches(self._as_requests(connection))
        self.templates = KindWatches(self._as_templates(connection))

    async def wait_tried(self) -> None:
        """Return when each kind was read completely, or its first try failed."""
        await self.requests.wait_tried()
        await self.templates.wait_tried()

    def ages(self) -> dict[str, timedelta | None]:
        """Age of the cache of each kind; None if it was never complete."""
        return self.requests.ages() | self.templates.ages()

    def watched_templates(self, kind: Kind, limit: timedelta) -> Collection[Template] | None:
        """All templates of a kind, if a watch shows each as of `limit` ago or later; else None."""
        watch = self.templates.get(kind)
        if watch is None or watch.source is None or watch.is_refused:
            return None
        return None if watch.problem(limit) or watch.source.undecodable else watch.source.store.values()

    def template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        """The known templates of a kind, and whether their requests can be read."""
        reference = TemplateReference(api_version=api_version, kind=kind, name="")
        requests = (api_version, reference.request_kind)
        rejection = why_no_requests_of(reference) or self.requests.rejection(requests)
        templates = self._known_templates((api_version, kind))
        if templates is None or not rejection:
            return templates
        is_refused = self.requests.is_refused(requests)
        return replace(templates, request_rejection=rejection, are_requests_refused=is_refused)

    def _known_templates(self, kind: Kind) -> TemplateKind | None:
        watch = self.templates.get(kind)
        is_polled = watch is not None and watch.is_refused
        if watch is not None and watch.rejection and not is_polled:
            return TemplateKind(rejection=watch.rejection)
        if watch is None or watch.resource is None:
            return None
        if is_polled:
            return self.polling.kind(kind, is_namespaced=watch.resource.namespaced)
        return _listed(watch, watch.resource)

    def _poll_every(self) -> timedelta:
        return min(EVERY, self._reflectors().watching.proof_every)

    def _as_requests(self, connection: ClusterConnection) -> KindSubscription[RemediationRequest]:
        return KindSubscription(
            connection=connection,
            record=RemediationRequest,
            name="requests",
            notify=self.of_requests.object_changed,
            changed=self.of_requests.kind_changed,
            problems=self._problems,
            reflectors=self._reflectors,
        )

    def _as_templates(self, connection: ClusterConnection) -> KindSubscription[Template]:
        return KindSubscription(
            connection=connection,
            record=Template,
            name="templates",
            notify=self.of_templates.object_changed,
            changed=self.of_templates.kind_changed,
            problems=self._problems,
            fallback=self.polling,
            reflectors=self._reflectors,
        )


def _listed(watch: KindWatch[Template], resource: Resource) -> TemplateKind | None:
    if watch.source is None or not watch.source.synced:
        return None
    return TemplateKind(
        # A Key and a Place of the same words are equal: both are tuples.
        templates=cast("Mapping[Place, Template]", watch.source.store),
        unreadable=cast("Mapping[Place, str]", watch.source.undecodable),
        is_namespaced=resource.namespaced,
    )
