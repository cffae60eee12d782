"""Sources: the reflectors that feed the picture, and how old it is.

Nodes, checks and Leases are watched from the start; kinds of requests when a check names them, by its
templates or by the requests that its status lists (so a restart knows those of a template that was replaced).
"""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Protocol

from detector.picture import Picture
from detector.records import CheckRecord
from detector.request_kinds import RequestKind, RequestKinds
from health.health_check import InvalidCheckError
from health.kinds import CHECK_KINDS, CheckKind
from health.node import Node
from health.references import CheckReference
from health.remediation_request import RemediationRequest
from kube.lease import LeaseRecord
from kube.record import Change, ChangeKind
from kube.reflector import Reflector
from kube.resource import LEASES, NODES, Resource
from kube.transport import Transport
from runtime.problems import Problems

LOOK_FOR_PROBLEMS_SECONDS = 1.0


class Source(Protocol):
    """What a reflector says of itself."""

    @property
    def synced(self) -> bool:
        """Whether it was ever complete."""

    @property
    def problem(self) -> str:
        """What is wrong with it, "" if nothing is."""

    def age(self) -> timedelta | None:
        """Time since its last sign of life."""

    async def wait_synced(self) -> None:
        """Return when it is complete."""

    async def run(self) -> None:
        """Watch until cancelled."""


class Sources:
    """All reflectors of one cluster."""

    def __init__(
        self, transport: Transport, picture: Picture, lease_namespace: str, problems: Problems
    ) -> None:
        self._transport = transport
        self._picture = picture
        self._problems = problems
        self._tasks = asyncio.TaskGroup()
        self._requests = RequestKinds(transport, self._request, picture.tell_all, problems)
        nodes = Reflector(transport, NODES, Node, notify=self._node)
        leases = Reflector(transport, LEASES, LeaseRecord, namespace=lease_namespace, notify=self._lease)
        self._base: dict[str, Source] = {"nodes": nodes, "leases": leases}
        for kind in CHECK_KINDS.values():
            self._base[kind.kind] = self._checks_of(kind)
        picture.unreadable_nodes = nodes.broken

    async def run(self) -> None:
        """Watch until cancelled."""
        async with self._tasks:
            for source in self._base.values():
                self._tasks.create_task(source.run())
            await self._report_problems()

    async def wait_settled(self) -> None:
        """Return when all was read completely but kinds of requests that cannot be read."""
        for source in self._base.values():
            await source.wait_synced()
        await self._requests.wait_tried()

    def age(self) -> timedelta | None:
        """The age of the oldest source that verdicts rest on; None if one was never complete."""
        ages = [source.age() if source.synced else None for source in self._base.values()]
        known = [age for age in ages if age is not None]
        return max(known) if len(known) == len(ages) else None

    def unread_requests(self, check: CheckReference, limit: timedelta) -> str:
        """Why the requests that matter to `check` are not known well enough to act; "" if they are."""
        templates = self._kinds_of_templates(check)
        listed = self._requests.served(self._kinds_of_status(check))
        return self._requests.problem(templates | listed, limit)

    def refusal(self, check: CheckReference) -> str:
        """What the API server said where it does not let us read the requests of `check`."""
        return self._requests.refusal(self._kinds_of_templates(check))

    def _checks_of(self, kind: CheckKind) -> Source:
        resource = Resource(kind.api_version, kind.kind, kind.plural, kind.is_namespaced)
        return Reflector(self._transport, resource, CheckRecord, notify=partial(self._check, kind))

    def _node(self, change: Change[Node]) -> None:
        self._picture.node_changed(change.key.name, change.new)

    def _lease(self, change: Change[LeaseRecord]) -> None:
        self._picture.lease_changed(change.key.name, change.new)

    def _check(self, kind: CheckKind, change: Change[CheckRecord]) -> None:
        reference = CheckReference(kind=kind.kind, namespace=change.key.namespace, name=change.key.name)
        self._picture.check_changed(kind, reference, change.new)
        named: set[RequestKind] = set()
        for check in self._picture.checks:
            named |= self._kinds_of_templates(check) | self._kinds_of_status(check)
        self._requests.name(named, self._tasks)

    def _request(self, kind: RequestKind, change: Change[RemediationRequest]) -> None:
        exists = change.kind is not ChangeKind.DELETED
        request = change.new or change.old
        if request is not None:
            self._picture.request_changed(*kind, request, exists=exists)

    def _kinds_of_templates(self, check: CheckReference) -> frozenset[RequestKind]:
        entry = self._picture.checks.get(check)
        if entry is None or isinstance(entry.check, InvalidCheckError):
            return frozenset()
        templates = (step.template for step in entry.check.steps)
        return frozenset((template.api_version, template.request_kind) for template in templates)

    def _kinds_of_status(self, check: CheckReference) -> frozenset[RequestKind]:
        entry = self._picture.checks.get(check)
        return entry.record.listed_request_kinds if entry else frozenset()

    async def _report_problems(self) -> None:
        while True:
            for part, source in self._base.items():
                unread = "" if source.synced else "not read completely yet"
                self._problems.report(part, source.problem or unread)
            await asyncio.sleep(LOOK_FOR_PROBLEMS_SECONDS)
