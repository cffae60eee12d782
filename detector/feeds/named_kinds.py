"""NamedKinds: watches the kinds of requests and templates that the checks name.

A check names them by its templates, and by the requests that its status lists (so a restart finds the
requests of a replaced template). Kinds that cannot be requests are left out: each Node in the list of `v1`
Nodes would be a request for itself, and would hold every check.
"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

from detector.feeds.kind_watch import Kind
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.template_polling import Naming
from detector.state.cluster_state import ClusterState
from health.check.template_validity import Template
from health.kinds.request_kinds import why_no_request, why_no_requests_of
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference, TemplateReference
from health.model.remediation_request import RemediationRequest
from kube.record import Change, ChangeKind


class NamedKinds:
    """The kinds of requests and templates that the checks of one cluster name."""

    def __init__(self, cluster_state: ClusterState, kinds: RemediationKinds) -> None:
        self._cluster_state = cluster_state
        self._kinds = kinds

    def add_handlers(self) -> None:
        """Have the state changed by requests, and handlers of checks notified of their templates."""
        self._kinds.of_requests.add_object_handler(self._guarded_request)
        self._kinds.of_requests.add_kind_handler(self._requests_changed)
        self._kinds.of_templates.add_object_handler(self._template_changed)
        self._kinds.of_templates.add_kind_handler(self._templates_changed)

    def watch(self, tasks: asyncio.TaskGroup) -> None:
        """Watch the kinds that the checks name now."""
        requests: set[Kind] = set()
        templates: set[Kind] = set()
        for check in self._cluster_state.checks:
            requests |= self._kinds_of_requests(check) | self._kinds_of_status(check)
            templates |= self._kinds_of_templates(check)
        self._kinds.polling.name(self._namings())
        self._kinds.requests.name(requests, tasks)
        self._kinds.templates.name(templates, tasks)

    async def wait_tried_of(self, check: CheckReference) -> None:
        """`wait_tried` for the kinds of the templates of one check."""
        await self._kinds.requests.wait_tried(self._kinds_of_requests(check))
        await self._kinds.templates.wait_tried(self._kinds_of_templates(check))

    def unread_requests(self, check: CheckReference, limit: timedelta) -> str:
        """Why the requests of `check` are not fresh enough to act; "" if they are."""
        listed = self._kinds.requests.served(self._kinds_of_status(check))
        return self._kinds.requests.problem(self._kinds_of_requests(check) | listed, limit)

    def shows_requests(self, check: CheckReference, limit: timedelta) -> bool:
        """True if every request that `check` can have is known as of `limit` ago or later.

        A kind that is not served has no requests.
        """
        kinds = self._kinds.requests.served(self._kinds_of_requests(check) | self._kinds_of_status(check))
        return not self._kinds.requests.problem(kinds, limit)

    def unread_templates(self, check: CheckReference, limit: timedelta) -> str:
        """Why the templates of `check` are not fresh enough to act; "" if they are."""
        kinds = self._kinds_of_templates(check)
        listed = frozenset(kind for kind in kinds if not self._kinds.templates.is_refused(kind))
        read = [
            template
            for template in self._templates_of(check)
            if (template.api_version, template.kind) not in listed
        ]
        return self._kinds.templates.problem(listed, limit) or self._kinds.polling.problem(read, limit)

    def _template_changed(self, kind: Kind, _: Change[Template]) -> None:
        self._templates_changed(kind)

    def _templates_changed(self, kind: Kind) -> None:
        with self._cluster_state.guard.item("templates", kind):
            self._cluster_state.templates_changed(*kind)

    def _requests_changed(self, kind: Kind) -> None:
        with self._cluster_state.guard.item("requests", kind):
            self._cluster_state.notify_all()

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
        return frozenset(
            (template.api_version, template.request_kind)
            for template in self._templates_of(check)
            if not why_no_requests_of(template)
        )

    def _kinds_of_templates(self, check: CheckReference) -> frozenset[Kind]:
        return frozenset((template.api_version, template.kind) for template in self._templates_of(check))

    def _templates_of(self, check: CheckReference) -> list[TemplateReference]:
        entry = self._cluster_state.checks.get(check)
        if entry is None or isinstance(entry.check, InvalidCheckError):
            return []
        return [step.template for step in entry.check.steps]

    def _kinds_of_status(self, check: CheckReference) -> frozenset[Kind]:
        entry = self._cluster_state.checks.get(check)
        kinds = entry.listed_request_kinds if entry else ()
        return frozenset(kind for kind in kinds if not why_no_request(*kind))
