"""NamedKinds: watches the kinds of requests and templates that the checks name.

A check names them by its templates, and by the requests that its status lists (so a restart finds the
requests of a replaced template). Templates that we may read but not list are polled.

A kind is watched from the moment that it is named, and for as long as the process lives, because requests of
a kind that no check names any more still have to be removed. A kind that cannot be read, because it is not
served or forbidden, is tried again while a check names it. It holds the acts of its checks, but neither their
verdicts nor the cleanup.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Generic, cast

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatch
from detector.feeds.source import THEY_NOT_YET
from detector.feeds.template_polling import EVERY, Naming, TemplatePolling
from detector.state.cluster_state import ClusterState
from health.check.template_validity import Place, Template, TemplateKind
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference, TemplateReference
from health.model.remediation_request import RemediationRequest
from kube.connection import ClusterConnection
from kube.record import Change, ChangeKind, RecordT
from kube.reflector_settings import CurrentSettings, patient
from kube.resource import Resource
from runtime.problems import Problems


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


class NamedKinds:
    """The watches of all named kinds of one cluster."""

    def __init__(
        self,
        connection: ClusterConnection,
        cluster_state: ClusterState,
        reflectors: CurrentSettings = patient,
    ) -> None:
        self._cluster_state = cluster_state
        self._reflectors = reflectors
        # A problem of a kind holds only the checks that name it, so the detector is still ready.
        self._problems = Problems("checks are held")
        self._polling = TemplatePolling(connection, self._tell_of_templates, every=self._poll_every)
        self._requests = KindWatches(self._as_requests(connection))
        self._templates = KindWatches(self._as_templates(connection))

    def watch(self, tasks: asyncio.TaskGroup) -> None:
        """Watch the kinds that the checks name now."""
        requests: set[Kind] = set()
        templates: set[Kind] = set()
        for check in self._cluster_state.checks:
            requests |= self._kinds_of_requests(check) | self._kinds_of_status(check)
            templates |= self._kinds_of_templates(check)
        self._polling.name(self._namings())
        self._requests.name(requests, tasks)
        self._templates.name(templates, tasks)

    async def wait_tried(self) -> None:
        """Return when each kind was read completely, or its first try failed."""
        await self._requests.wait_tried()
        await self._templates.wait_tried()

    async def wait_tried_of(self, check: CheckReference) -> None:
        """`wait_tried` for the kinds of the templates of one check."""
        await self._requests.wait_tried(self._kinds_of_requests(check))
        await self._templates.wait_tried(self._kinds_of_templates(check))

    def ages(self) -> dict[str, timedelta | None]:
        """Age of the cache of each kind; None if it was never complete."""
        return self._requests.ages() | self._templates.ages()

    def unread_requests(self, check: CheckReference, limit: timedelta) -> str:
        """Why the requests of `check` are not fresh enough to act; "" if they are."""
        listed = self._requests.served(self._kinds_of_status(check))
        return self._requests.problem(self._kinds_of_requests(check) | listed, limit)

    def shows_requests(self, check: CheckReference, limit: timedelta) -> bool:
        """True if every request that `check` can have is known as of `limit` ago or later.

        A kind that is not served has no requests.
        """
        kinds = self._requests.served(self._kinds_of_requests(check) | self._kinds_of_status(check))
        return not self._requests.problem(kinds, limit)

    def unread_templates(self, check: CheckReference, limit: timedelta) -> str:
        """Why the templates of `check` are not fresh enough to act; "" if they are."""
        kinds = self._kinds_of_templates(check)
        listed = frozenset(kind for kind in kinds if not self._templates.is_forbidden(kind))
        read = [one for one in self._templates_of(check) if (one.api_version, one.kind) not in listed]
        return self._templates.problem(listed, limit) or self._polling.problem(read, limit)

    def watched_templates(self, kind: Kind, limit: timedelta) -> Collection[Template] | None:
        """All templates of a kind, if a watch shows each as of `limit` ago or later; else None."""
        watch = self._templates.get(kind)
        if watch is None or watch.source is None or watch.is_forbidden:
            return None
        return None if watch.problem(limit) or watch.source.undecodable else watch.source.store.values()

    def template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        """The known templates of a kind, and whether their requests can be read."""
        reference = TemplateReference(api_version=api_version, kind=kind, name="")
        requests = (api_version, reference.request_kind)
        rejection = self._requests.rejection(requests)
        known = self._known_templates((api_version, kind))
        if known is None or not rejection:
            return known
        is_forbidden = self._requests.is_forbidden(requests)
        return replace(known, request_rejection=rejection, are_requests_forbidden=is_forbidden)

    def _known_templates(self, kind: Kind) -> TemplateKind | None:
        watch = self._templates.get(kind)
        is_polled = watch is not None and watch.is_forbidden
        if watch is not None and watch.rejection and not is_polled:
            return TemplateKind(rejection=watch.rejection)
        if watch is None or watch.resource is None:
            return None
        if is_polled:
            return self._polling.kind(kind, is_namespaced=watch.resource.namespaced)
        return _listed(watch, watch.resource)

    def _poll_every(self) -> timedelta:
        return min(EVERY, self._reflectors().watching.proof_every)

    def _as_requests(self, connection: ClusterConnection) -> KindSubscription[RemediationRequest]:
        return KindSubscription(
            connection,
            RemediationRequest,
            "requests",
            self._guarded_request,
            self._tell_of_requests,
            self._problems,
            reflectors=self._reflectors,
        )

    def _as_templates(self, connection: ClusterConnection) -> KindSubscription[Template]:
        return KindSubscription(
            connection,
            Template,
            "templates",
            lambda kind, _: self._tell_of_templates(kind),
            self._tell_of_templates,
            self._problems,
            self._polling,
            self._reflectors,
        )

    def _tell_of_templates(self, kind: Kind) -> None:
        with self._cluster_state.guard.item("templates", kind):
            self._cluster_state.templates_changed(*kind)

    def _tell_of_requests(self, kind: Kind) -> None:
        with self._cluster_state.guard.item("requests", kind):
            self._cluster_state.tell_all()

    def _namings(self) -> Iterator[Naming]:
        for reference, entry in self._cluster_state.checks.items():
            for template in self._templates_of(reference):
                yield Naming(reference, entry.record.metadata.generation, template)

    def _guarded_request(self, kind: Kind, change: Change[RemediationRequest]) -> None:
        with self._cluster_state.guard.item("requests", f"{kind[1]} {change.key}"):
            self._request(kind, change)

    def _request(self, kind: Kind, change: Change[RemediationRequest]) -> None:
        exists = change.kind is not ChangeKind.DELETED
        request = change.new or change.old
        if request is not None:
            self._cluster_state.request_changed(*kind, request, exists=exists)

    def _kinds_of_requests(self, check: CheckReference) -> frozenset[Kind]:
        return frozenset((one.api_version, one.request_kind) for one in self._templates_of(check))

    def _kinds_of_templates(self, check: CheckReference) -> frozenset[Kind]:
        return frozenset((one.api_version, one.kind) for one in self._templates_of(check))

    def _templates_of(self, check: CheckReference) -> list[TemplateReference]:
        entry = self._cluster_state.checks.get(check)
        if entry is None or isinstance(entry.check, InvalidCheckError):
            return []
        return [step.template for step in entry.check.steps]

    def _kinds_of_status(self, check: CheckReference) -> frozenset[Kind]:
        entry = self._cluster_state.checks.get(check)
        return entry.listed_request_kinds if entry else frozenset()


def _listed(watch: KindWatch[Template], resource: Resource) -> TemplateKind | None:
    if watch.source is None or not watch.source.synced:
        return None
    return TemplateKind(
        # A Key and a Place of the same words are equal: both are tuples.
        cast("Mapping[Place, Template]", watch.source.store),
        cast("Mapping[Place, str]", watch.source.undecodable),
        is_namespaced=resource.namespaced,
    )
