"""RemediationKinds: watches the kinds of requests and templates that the checks name.

A check names them by its templates, and by the requests that its status lists (so a restart finds the
requests of a replaced template). Kinds that cannot be requests are left out: each Node in the list of `v1`
Nodes would be a request for itself, and would hold every check.

A kind is watched from the moment that a check names it, and for as long as the process lives, because
requests of a kind that no check names any more still have to be removed. A kind that cannot be read, because
it is not served or refused, is tried again while a check names it. It holds the acts of its checks, but
neither their verdicts nor the cleanup. Templates that we may read but not list are polled.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple, cast

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatches
from detector.feeds.template_polling import EVERY, Naming, TemplatePolling
from detector.state.cluster_state import ClusterState
from health.check.template_validity import Place, Template, TemplateKind
from health.gate.check_holds import UnreadSource
from health.kinds.registry import why_no_request, why_no_requests_of
from health.model.references import CheckReference, TemplateReference
from health.model.remediation_request import RemediationRequest
from kube.connection import ClusterConnection
from kube.record import Change, ChangeKind
from kube.reflector_settings import CurrentSettings, patient
from runtime.problems import Problems


class NamedKinds(NamedTuple):
    """The kinds and templates that one check names."""

    requests: frozenset[Kind] = frozenset()
    templates: frozenset[Kind] = frozenset()
    namings: frozenset[Naming] = frozenset()


NO_KINDS = NamedKinds()


@lru_cache(maxsize=1024)
def _requests_of(api_version: str, kind: str) -> tuple[Kind, str | None]:
    """The kind of the requests from templates of this kind, and why there can be none."""
    reference = TemplateReference(api_version=api_version, kind=kind, name="")
    return (api_version, reference.request_kind), why_no_requests_of(reference)


class RemediationKinds:
    """The kinds of requests and templates of one cluster; what they show goes into its state."""

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
        self.polling = TemplatePolling(connection, self._templates_changed, every=self._poll_every)
        self.requests = KindWatches(self._as_requests(connection))
        self.templates = KindWatches(self._as_templates(connection))
        self._named: dict[CheckReference, NamedKinds] = {}
        self._uses_of_requests, self._uses_of_templates = Counter[Kind](), Counter[Kind]()
        """How many checks name each kind."""

    def _as_requests(self, connection: ClusterConnection) -> KindSubscription[RemediationRequest]:
        return KindSubscription(
            connection=connection,
            record=RemediationRequest,
            name="requests",
            notify=self._request_changed,
            changed=self._requests_changed,
            problems=self._problems,
            reflectors=self._reflectors,
        )

    def _as_templates(self, connection: ClusterConnection) -> KindSubscription[Template]:
        return KindSubscription(
            connection=connection,
            record=Template,
            name="templates",
            notify=lambda kind, _: self._templates_changed(kind),
            changed=self._templates_changed,
            problems=self._problems,
            fallback=self.polling,
            reflectors=self._reflectors,
        )

    def _poll_every(self) -> timedelta:
        return min(EVERY, self._reflectors().watching.proof_every)

    def _request_changed(self, kind: Kind, change: Change[RemediationRequest]) -> None:
        request = change.new or change.old
        with self._cluster_state.guard.item("requests", f"{kind[1]} {change.key}"):
            if request is not None:
                exists = change.kind is not ChangeKind.DELETED
                self._cluster_state.request_changed(*kind, request, exists=exists)

    def _requests_changed(self, kind: Kind) -> None:
        with self._cluster_state.guard.item("requests", kind):
            self._cluster_state.notify_all()

    def _templates_changed(self, kind: Kind) -> None:
        with self._cluster_state.guard.item("templates", kind):
            self._cluster_state.templates_changed(*kind)

    def check_changed(self, check: CheckReference, tasks: asyncio.TaskGroup) -> None:
        """Watch the kinds that a check names now.

        It costs the same however many checks there are: an upgrade changes all of them at once.
        """
        before, now = self._named.get(check, NO_KINDS), self._kinds_of(check)
        if now == before:
            return
        self._named[check] = now
        if now == NO_KINDS:
            del self._named[check]
        self.polling.name(before.namings, now.namings)
        for watches, uses, were_named, are_named in (
            (self.requests, self._uses_of_requests, before.requests, now.requests),
            (self.templates, self._uses_of_templates, before.templates, now.templates),
        ):
            uses.update(are_named)
            uses.subtract(were_named)
            watches.name(+uses, tasks)

    def _kinds_of(self, check: CheckReference) -> NamedKinds:
        entry = self._cluster_state.checks.get(check)
        if entry is None:
            return NO_KINDS
        generation = entry.record.metadata.generation
        return NamedKinds(
            requests=self._kinds_of_requests(check) | self._kinds_of_status(check),
            templates=self._kinds_of_templates(check),
            namings=frozenset(Naming(generation, template) for template in self._templates_of(check)),
        )

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
        if watch is None or watch.is_refused:
            return None
        return None if watch.unread(limit) or watch.source.undecodable else watch.source.store.values()

    def template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        """The known templates of a kind, and whether their requests can be read."""
        requests, why_none = _requests_of(api_version, kind)
        rejection = why_none or self.requests.rejection(requests)
        templates = self._known_templates((api_version, kind))
        if templates is None or not rejection:
            return templates
        is_refused = self.requests.is_refused(requests)
        return replace(templates, request_rejection=rejection, are_requests_refused=is_refused)

    def _known_templates(self, kind: Kind) -> TemplateKind | None:
        watch = self.templates.get(kind)
        if watch is None:
            return None
        if watch.rejection and not watch.is_refused:
            return TemplateKind(rejection=watch.rejection)
        if watch.resource is None:
            return None
        if watch.is_refused:
            return self.polling.kind(kind, is_namespaced=watch.resource.namespaced)
        if not watch.source.synced:
            return None
        return TemplateKind(
            # A Key and a Place of the same words are equal: both are tuples.
            templates=cast("Mapping[Place, Template]", watch.source.store),
            unreadable=cast("Mapping[Place, str]", watch.source.undecodable),
            is_namespaced=watch.resource.namespaced,
        )

    async def wait_tried_of(self, check: CheckReference) -> None:
        """`wait_tried` for the kinds of the templates of one check."""
        await self.requests.wait_tried(self._kinds_of_requests(check))
        await self.templates.wait_tried(self._kinds_of_templates(check))

    def unread_requests(self, check: CheckReference, limit: timedelta) -> UnreadSource | None:
        """Why the requests of `check` are not fresh enough to act; None if they are."""
        listed = self.requests.served(self._kinds_of_status(check))
        return self.requests.unread(self._kinds_of_requests(check) | listed, limit)

    def shows_requests(self, check: CheckReference, limit: timedelta) -> bool:
        """True if every request that `check` can have is known as of `limit` ago or later.

        A kind that is not served has no requests.
        """
        kinds = self.requests.served(self._kinds_of_requests(check) | self._kinds_of_status(check))
        return self.requests.unread(kinds, limit) is None

    def unread_templates(self, check: CheckReference, limit: timedelta) -> UnreadSource | None:
        """Why the templates of `check` are not fresh enough to act; None if they are."""
        kinds = self._kinds_of_templates(check)
        listed = frozenset(kind for kind in kinds if not self.templates.is_refused(kind))
        read = [
            template
            for template in self._templates_of(check)
            if (template.api_version, template.kind) not in listed
        ]
        return self.templates.unread(listed, limit) or self.polling.unread(read, limit)

    def _kinds_of_requests(self, check: CheckReference) -> frozenset[Kind]:
        return frozenset(
            (template.api_version, template.request_kind)
            for template in self._templates_of(check)
            if not why_no_requests_of(template)
        )

    def _kinds_of_templates(self, check: CheckReference) -> frozenset[Kind]:
        return frozenset((template.api_version, template.kind) for template in self._templates_of(check))

    def _templates_of(self, check: CheckReference) -> list[TemplateReference]:
        entry = self._cluster_state.checks.get(check)
        if entry is None or entry.check is None:
            return []
        return [step.template for step in entry.check.steps]

    def _kinds_of_status(self, check: CheckReference) -> frozenset[Kind]:
        entry = self._cluster_state.checks.get(check)
        kinds = entry.listed_request_kinds if entry else ()
        return frozenset(kind for kind in kinds if not why_no_request(*kind))
