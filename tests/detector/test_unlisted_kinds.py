"""No caller waits for a kind whose objects cannot all be listed, or for one that is no longer needed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.feeds.kind_watch import Kind, KindSubscription
from detector.feeds.remediation_kinds import KindWatches
from health.check.template_validity import Template
from kube.connection import ClusterConnection
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.api_server import ApiServer, hanging, refused, said
from tests.support.api.eventually import eventually

pytestmark = pytest.mark.rule("rule 3")

RESETS: Kind = ("example.com/v1", "ResetTemplate")
OTHERS: Kind = ("example.com/v1", "OtherTemplate")
GROUP_VERSION = "/apis/example.com/v1"
SERVED = said(
    {
        "resources": [
            {"name": "resettemplates", "kind": "ResetTemplate", "namespaced": False},
            {"name": "othertemplates", "kind": "OtherTemplate", "namespaced": False},
        ]
    }
)

Name = Callable[..., None]


@pytest.fixture
def problems() -> Problems:
    return Problems()


@pytest.fixture
def watches(transport: Transport, problems: Problems) -> KindWatches[Template]:
    return KindWatches(
        KindSubscription(
            connection=ClusterConnection.over(transport),
            record=Template,
            name="templates",
            notify=lambda *_: None,
            changed=lambda _: None,
            problems=problems,
        )
    )


@pytest.fixture
async def name(watches: KindWatches[Template]) -> AsyncIterator[Name]:
    forever = asyncio.Event()

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            made.set_result(tasks)
            await forever.wait()

    made: asyncio.Future[asyncio.TaskGroup] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(run())
    tasks = await made
    yield lambda *kinds: watches.name(kinds, tasks)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_kind_that_cannot_be_listed_as_a_whole_is_tried_and_says_why(
    server: ApiServer, watches: KindWatches[Template], name: Name, problems: Problems
) -> None:
    server.answer("GET", GROUP_VERSION, SERVED)
    server.answer("GET", f"{GROUP_VERSION}/resettemplates", refused(500, "InternalError"))
    name(RESETS)

    async with asyncio.timeout(60):
        await watches.wait_tried()
    assert "said InternalError" in watches.problem([RESETS], timedelta(minutes=1))
    (told,) = problems.sentences
    assert "said InternalError" in told


async def test_no_caller_waits_for_a_kind_that_is_no_longer_named(
    server: ApiServer, watches: KindWatches[Template], name: Name
) -> None:
    server.answer("GET", GROUP_VERSION, hanging)
    name(RESETS)
    waiting = asyncio.create_task(watches.wait_tried())
    await eventually(lambda: server.asked)
    assert not waiting.done()

    name()
    async with asyncio.timeout(60):
        await waiting


async def test_check_that_names_no_kind_waits_for_none(
    server: ApiServer, watches: KindWatches[Template], name: Name
) -> None:
    server.answer("GET", GROUP_VERSION, hanging)
    name(OTHERS)
    async with asyncio.timeout(60):
        await watches.wait_tried(frozenset())
