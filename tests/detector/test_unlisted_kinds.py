"""No caller waits for a kind whose objects cannot all be listed, or for one that is no longer needed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatches
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.template_polling import Naming, TemplatePolling
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.check.template_validity import Template
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.references import CheckReference, TemplateReference
from kube.connection import ClusterConnection
from kube.errors import ServerFault
from kube.resource import Resource
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.api_server import ApiServer, hanging, refused, said
from tests.support.api.eventually import eventually
from tests.support.values.builders import check_object

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
async def tasks() -> AsyncIterator[asyncio.TaskGroup]:
    forever = asyncio.Event()

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            made.set_result(tasks)
            await forever.wait()

    made: asyncio.Future[asyncio.TaskGroup] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(run())
    yield await made
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.fixture
def name(watches: KindWatches[Template], tasks: asyncio.TaskGroup) -> Name:
    return lambda *kinds: watches.name(kinds, tasks)


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
    polling.name(frozenset(), frozenset({Naming(1, template)}))
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


async def test_kind_is_watched_until_the_last_of_its_checks_names_another(
    transport: Transport, tasks: asyncio.TaskGroup
) -> None:
    state = ClusterState("test")
    kinds, generations = RemediationKinds(ClusterConnection.over(transport), state), count(1)

    def put(check: str, template: str | None) -> bool:
        """Change a check, or delete it; returns whether templates of `RESETS` are watched."""
        reference, record = CheckReference(kind="NodeHealthCheck", name=check), None
        if template is not None:
            named = {"apiVersion": RESETS[0], "kind": template, "name": "t", "namespace": "default"}
            edited = check_object(remediationTemplate=named)
            edited["metadata"]["generation"] = next(generations)
            record = CheckRecord.model_validate(edited)
        state.check_changed(NODE_HEALTH_CHECK, reference, record)
        kinds.check_changed(reference, tasks)
        return kinds.templates.get(RESETS) is not None

    assert [put("a", "ResetTemplate"), put("b", "ResetTemplate"), put("a", "OtherTemplate")] == [True] * 3
    assert not put("b", None)
    assert put("a", "ResetTemplate")
