"""No caller waits for a kind whose objects cannot all be listed, or for one that is no longer needed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatches
from detector.feeds.template_polling import Naming, TemplatePolling
from health.check.template_validity import Template
from health.model.references import CheckReference, TemplateReference
from kube.connection import ClusterConnection
from kube.errors import ServerFault
from kube.resource import Resource
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
    assert "said InternalError" in str(watches.unread([RESETS], timedelta(minutes=1)))
    (told,) = problems.sentences
    assert "said InternalError" in told


async def test_kind_whose_first_look_fails_says_why_and_since_when(
    server: ApiServer, watches: KindWatches[Template], name: Name
) -> None:
    server.answer("GET", GROUP_VERSION, SERVED)
    server.version(f"{GROUP_VERSION}/resettemplates", refused(500, "InternalError"))
    before = datetime.now(UTC).replace(microsecond=0)
    name(RESETS)

    async with asyncio.timeout(60):
        await watches.wait_tried()
    why, _, since = str(watches.unread([RESETS], timedelta(minutes=1))).partition(" (since ")
    assert why == (
        f"templates of kind ResetTemplate: GET {GROUP_VERSION}/resettemplates was answered 500 "
        "InternalError: said InternalError"
    )
    assert before <= datetime.fromisoformat(since.removesuffix(")")) <= datetime.now(UTC)


async def test_template_that_cannot_be_read_alone_says_why_and_since_when(
    server: ApiServer, transport: Transport
) -> None:
    template = TemplateReference(api_version=RESETS[0], kind=RESETS[1], name="reset")
    resource = Resource(RESETS[0], RESETS[1], "resettemplates", namespaced=False)
    path, now = resource.path(name="reset"), [0.0]
    polling = TemplatePolling(ClusterConnection.over(transport), lambda _: None, clock=lambda: now[0])
    polling.name([Naming(CheckReference(kind="NodeHealthCheck", name="workers"), 1, template)])
    failed, found = refused(500, "InternalError"), said({"metadata": {"name": "reset", "uid": "1"}})
    server.answer("GET", path, failed, found, failed)

    def problem() -> str:
        return str(polling.unread([template], timedelta(minutes=1)) or "")

    assert problem() == f"{template}: not read completely yet"
    with pytest.raises(ServerFault):
        await polling.read(RESETS, resource)
    assert problem().startswith(
        f"{template}: GET {path} was answered 500 InternalError: said InternalError (since "
    )
    await polling.read(RESETS, resource)
    assert problem() == ""
    now[0] = 61
    assert problem().startswith(f"{template}: without any activity for too long (since ")
    with pytest.raises(ServerFault):
        await polling.read(RESETS, resource)
    assert "said InternalError (since " in problem()


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
