"""What cannot be read of one kind of checks or targets holds the checks that rest on it, and no other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from detector.picture.picture import Picture
from detector.watching.sources import Scope, Sources
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.references import CheckReference
from kube.resource import LEASES, MACHINES, NAMESPACES, NODE_HEALTH_CHECKS, NODES, Resource, resource_of
from kube.transport import Transport
from runtime.problems import Problems
from tests.kube.api_server import Answer, ApiServer, lines, refused, said
from tests.kube.conftest import server, transport
from tests.kube.eventually import eventually

__all__ = ["server", "transport"]

OF_NODES = CheckReference(kind="NodeHealthCheck", name="workers")
OF_MACHINES = CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers")
LIMIT = timedelta(minutes=1)
EMPTY = said({"metadata": {"resourceVersion": "10"}, "items": []})
FORBIDDEN = refused(403, "Forbidden")
MACHINE_CHECKS = resource_of(MACHINE_HEALTH_CHECK)


class Eyes:
    """Sources of both kinds over a scripted API server."""

    def __init__(self, server: ApiServer, transport: Transport) -> None:
        self._server = server
        self.problems = Problems()
        scope = Scope("leases", (), (NODE_HEALTH_CHECK, MACHINE_HEALTH_CHECK))
        self.sources = Sources(transport, Picture("test"), scope, self.problems)
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
            async with asyncio.timeout(10):
                await self.sources.wait_settled()
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    def age(self, check: CheckReference) -> timedelta | None:
        return self.sources.sight(check, LIMIT).age


@pytest.fixture
def eyes(server: ApiServer, transport: Transport) -> Eyes:
    return Eyes(server, transport)


@pytest.mark.rule("decision 3")
@pytest.mark.parametrize("unreadable", [MACHINES, MACHINE_CHECKS])
async def test_missing_rights_for_machines_hold_the_checks_of_machines_alone(
    eyes: Eyes, unreadable: Resource
) -> None:
    eyes.may_not_read(unreadable)
    async with eyes.settled():
        assert eyes.age(OF_NODES) is not None
        assert eyes.sources.is_read(OF_NODES)
        assert eyes.age(OF_MACHINES) is None
        assert not eyes.sources.is_read(OF_MACHINES)
        await eventually(lambda: any("Forbidden" in one for one in eyes.problems.sentences), 5)


@pytest.mark.rule("decision 3")
async def test_missing_rights_for_checks_of_nodes_hold_them_alone(eyes: Eyes) -> None:
    eyes.may_not_read(NODE_HEALTH_CHECKS)
    async with eyes.settled():
        assert eyes.age(OF_NODES) is None
        assert eyes.age(OF_MACHINES) is not None
        async with asyncio.timeout(1):
            await eyes.sources.wait_read(OF_MACHINES)


@pytest.mark.rule("decision 3")
async def test_nothing_settles_without_the_nodes(eyes: Eyes) -> None:
    eyes.may_not_read(NODES)
    settling = asyncio.create_task(_settle(eyes))
    await eventually(lambda: any("Forbidden" in one for one in eyes.problems.sentences), 5)
    assert not settling.done()
    settling.cancel()
    with suppress(asyncio.CancelledError):
        await settling


async def _settle(eyes: Eyes) -> None:
    async with eyes.settled():
        pass
