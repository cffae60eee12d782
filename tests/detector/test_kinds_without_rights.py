"""An unreadable kind of checks or targets holds only the checks that depend on it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from detector.state.cluster_state import ClusterState
from devcluster.simulation.resources import MACHINES, NODE_HEALTH_CHECKS
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.references import CheckReference
from health.policy.policy import Policy
from kube.connection import ClusterConnection
from kube.resource import LEASES, NAMESPACES, NODES, Resource, resource_of
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.api_server import Answer, ApiServer, lines, refused, said
from tests.support.api.eventually import eventually
from tests.support.state.sources import Sources, Watched

OF_NODES = CheckReference(kind="NodeHealthCheck", name="workers")
OF_MACHINES = CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers")
LIMIT = timedelta(minutes=1)
EMPTY = said({"metadata": {"resourceVersion": "10"}, "items": []})
FORBIDDEN = refused(403, "Forbidden")
MACHINE_CHECKS = resource_of(MACHINE_HEALTH_CHECK)


class Observer:
    """Sources of both kinds over a scripted API server."""

    def __init__(self, server: ApiServer, transport: Transport) -> None:
        self._server = server
        self.problems = Problems()
        scope = Watched(upgrade_signals=(), kinds=(NODE_HEALTH_CHECK, MACHINE_HEALTH_CHECK))
        self.sources = Sources(
            ClusterConnection.over(transport), ClusterState("test"), scope, self.problems, Policy
        )
        self._answer(LEASES.path("leases"), EMPTY)

    def may_not_read(self, forbidden: Resource) -> None:
        for resource in (NODES, NODE_HEALTH_CHECKS, NAMESPACES, MACHINES, MACHINE_CHECKS):
            self._answer(resource.path(), FORBIDDEN if resource == forbidden else EMPTY)

    def _answer(self, path: str, answer: Answer) -> None:
        self._server.answer("GET", path, answer)
        self._server.watch(path, lines(then="silent"))

    @asynccontextmanager
    async def settled(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self.sources.run())
        try:
            async with asyncio.timeout(60):
                await self.sources.wait_settled()
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    def is_read(self, check: CheckReference) -> bool:
        return self.sources.of_checks.freshness(check).unread is None


@pytest.fixture
def observer(server: ApiServer, transport: Transport) -> Observer:
    return Observer(server, transport)


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize("unreadable", [MACHINES, MACHINE_CHECKS])
async def test_missing_rights_for_machines_hold_the_checks_of_machines_alone(
    observer: Observer, unreadable: Resource
) -> None:
    observer.may_not_read(unreadable)
    async with observer.settled():
        assert observer.is_read(OF_NODES)
        assert observer.sources.of_checks.is_read(OF_NODES)
        assert not observer.is_read(OF_MACHINES)
        assert not observer.sources.of_checks.is_read(OF_MACHINES)
        await eventually(lambda: any("Forbidden" in sentence for sentence in observer.problems.sentences))


@pytest.mark.rule("rule 3")
async def test_missing_rights_for_checks_of_nodes_hold_them_alone(observer: Observer) -> None:
    observer.may_not_read(NODE_HEALTH_CHECKS)
    async with observer.settled():
        unread = observer.sources.of_checks.freshness(OF_NODES).unread
        assert unread is not None
        assert unread.name.startswith("nodehealthchecks.")
        assert "was answered 403 Forbidden" in str(unread.problem)
        assert unread.since is not None
        assert observer.is_read(OF_MACHINES)
        async with asyncio.timeout(1):
            await observer.sources.of_checks.wait_read(OF_MACHINES)


@pytest.mark.rule("rule 3")
async def test_nothing_settles_without_the_nodes(observer: Observer) -> None:
    observer.may_not_read(NODES)
    settling = asyncio.create_task(_settle(observer))
    await eventually(lambda: any("Forbidden" in sentence for sentence in observer.problems.sentences))
    assert not settling.done()
    settling.cancel()
    with suppress(asyncio.CancelledError):
        await settling


async def _settle(observer: Observer) -> None:
    async with observer.settled():
        pass
