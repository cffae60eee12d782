"""Sources: the reflectors that feed the picture, and how old each check's part of it is.

Nodes, checks and Leases are watched from the start. A kind of remediation request is watched from the moment
that a check names it, and for as long as the process lives: requests of a kind that no check names any more
are still ours to remove.
"""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Protocol

from detector.picture import Picture
from detector.records import CheckRecord
from health.health_check import InvalidCheckError
from health.kinds import CHECK_KINDS, CheckKind
from health.node import Node
from health.references import CheckReference
from health.remediation_request import RemediationRequest
from kube.discovery import Discovery
from kube.errors import KindUnknown, KubernetesError
from kube.lease import LeaseRecord
from kube.record import Change, ChangeKind
from kube.reflector import Reflector
from kube.resource import LEASES, NODES, Resource
from kube.transport import Transport
from runtime.insisting import insist
from runtime.problems import Problems

RequestKind = tuple[str, str]
"""apiVersion and kind of a remediation request."""

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
        self._discovery = Discovery(transport)
        self._picture = picture
        self._problems = problems
        self._tasks = asyncio.TaskGroup()
        self._requests: dict[RequestKind, Source | None] = {}
        self._unserved: set[RequestKind] = set()
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

    async def wait_synced(self) -> None:
        """Return when nodes, checks and Leases were read completely."""
        for source in self._base.values():
            await source.wait_synced()

    def age(self, check: CheckReference) -> timedelta | None:
        """The age of the oldest source of what `check` is judged by; None if one was never complete."""
        sources = [*self._base.values(), *(self._requests.get(kind) for kind in self._kinds_of(check))]
        ages = [source.age() if source is not None and source.synced else None for source in sources]
        known = [age for age in ages if age is not None]
        return max(known) if known and len(known) == len(ages) else None

    def unknown_kinds(self, check: CheckReference) -> tuple[str, ...]:
        """The kinds of requests of `check` that the API server was asked for and does not serve."""
        return tuple(sorted(kind for _, kind in self._kinds_of(check) & self._unserved))

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
        for request_kind in self._kinds_of(reference):
            if request_kind not in self._requests:
                self._requests[request_kind] = None
                self._tasks.create_task(self._watch_requests(request_kind))

    def _request(self, kind: RequestKind, change: Change[RemediationRequest]) -> None:
        exists = change.kind is not ChangeKind.DELETED
        request = change.new or change.old
        if request is not None:
            self._picture.request_changed(*kind, request, exists=exists)

    async def _watch_requests(self, kind: RequestKind) -> None:
        # A kind that is not served holds the checks that name it, and does not make the process unready.
        part = f"requests of kind {kind[1]}"
        resource = await insist(part, lambda: self._find(kind), (KubernetesError,), Problems())
        reflector = Reflector(
            self._transport, resource, RemediationRequest, notify=partial(self._request, kind)
        )
        self._requests[kind] = reflector
        watching = self._tasks.create_task(reflector.run())
        await reflector.wait_synced()
        self._picture.tell_all()
        await watching

    async def _find(self, kind: RequestKind) -> Resource:
        try:
            resource = await self._discovery.resource(*kind)
        except KindUnknown:
            if kind not in self._unserved:
                self._unserved.add(kind)
                self._picture.tell_all()
            raise
        self._unserved.discard(kind)
        return resource

    def _kinds_of(self, check: CheckReference) -> frozenset[RequestKind]:
        entry = self._picture.checks.get(check)
        if entry is None or isinstance(entry.check, InvalidCheckError):
            return frozenset()
        templates = (step.template for step in entry.check.steps)
        return frozenset((template.api_version, template.request_kind) for template in templates)

    async def _report_problems(self) -> None:
        while True:
            for part, source in self._base.items():
                unread = "" if source.synced else "not read completely yet"
                self._problems.report(part, source.problem or unread)
            await asyncio.sleep(LOOK_FOR_PROBLEMS_SECONDS)
