"""RemediationKinds: the watches of the kinds of requests and templates, and what is known of each kind.

Templates that we may read but not list are polled. A kind that cannot be read holds the acts of its checks,
but neither their verdicts nor the cleanup.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import cast

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatch
from detector.feeds.kind_watches import KindHandlers, KindWatches
from detector.feeds.template_polling import EVERY, TemplatePolling
from health.check.template_validity import Place, Template, TemplateKind
from health.model.references import TemplateReference
from health.model.remediation_request import RemediationRequest
from kube.connection import ClusterConnection
from kube.reflector_settings import CurrentSettings, patient
from kube.resource import Resource
from runtime.problems import Problems


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
        if watch is None or watch.source is None or watch.is_forbidden:
            return None
        return None if watch.problem(limit) or watch.source.undecodable else watch.source.store.values()

    def template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        """The known templates of a kind, and whether their requests can be read."""
        reference = TemplateReference(api_version=api_version, kind=kind, name="")
        requests = (api_version, reference.request_kind)
        rejection = self.requests.rejection(requests)
        known = self._known_templates((api_version, kind))
        if known is None or not rejection:
            return known
        is_forbidden = self.requests.is_forbidden(requests)
        return replace(known, request_rejection=rejection, are_requests_forbidden=is_forbidden)

    def _known_templates(self, kind: Kind) -> TemplateKind | None:
        watch = self.templates.get(kind)
        is_polled = watch is not None and watch.is_forbidden
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
