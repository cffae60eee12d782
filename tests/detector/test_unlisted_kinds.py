"""Kinds that cannot be listed: no caller waits for them, and only their checks are held."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from aiohttp import web

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatches
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.template_polling import Naming, TemplatePolling
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from devcluster.simulation.resources import MACHINES, NODE_HEALTH_CHECKS
from health.check.template_validity import Template
from health.kinds.check_kind import CheckKind
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.references import CheckReference, TemplateReference
from health.policy.policy import Policy
from kube.connection import ClusterConnection
from kube.errors import RequestRefused, ServerFault
from kube.resource import LEASES, NAMESPACES, NODES, Resource, resource_of
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.api_server import Answer, ApiServer, hanging, lines, refused, said
from tests.support.api.eventually import eventually
from tests.support.state.sources import Sources, Watched
from tests.support.values.builders import check_object

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


@pytest.mark.rule("rule 3")
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


@pytest.mark.rule("rule 3")
async def test_kind_whose_first_look_fails_says_why_and_since_when(
    server: ApiServer, watches: KindWatches[Template], name: Name
) -> None:
    server.answer("GET", GROUP_VERSION, SERVED)
    server.answer("GET", f"{GROUP_VERSION}/resettemplates", refused(500, "InternalError"))
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


@pytest.mark.rule("rule 3")
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


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (said({"metadata": {"name": "reset", "uid": "1"}}), nullcontext()),
        (refused(404, "NotFound", "reset"), nullcontext()),
        (refused(403, "Forbidden"), pytest.raises(RequestRefused)),
        (refused(500, "InternalError"), pytest.raises(ServerFault)),
    ],
    ids=["found", "missing", "refused", "failed"],
)
async def test_template_that_no_check_names_any_more_is_forgotten_also_while_it_is_read(
    server: ApiServer, transport: Transport, answer: Answer, error: AbstractContextManager[object]
) -> None:
    template = TemplateReference(api_version=RESETS[0], kind=RESETS[1], name="reset")
    resource = Resource(RESETS[0], RESETS[1], "resettemplates", namespaced=False)
    polling = TemplatePolling(ClusterConnection.over(transport), lambda _: None)
    named = frozenset({Naming(1, template)})
    polling.name(frozenset(), named)

    async def answered(request: web.Request) -> web.StreamResponse:
        polling.name(named, frozenset())
        return await answer(request)

    server.answer("GET", resource.path(name="reset"), answered)
    with error:
        await polling.read(RESETS, resource)
    polling.name(frozenset(), named)
    assert str(polling.unread([template], LIMIT)) == f"{template}: not read completely yet"


@pytest.mark.rule("rule 3")
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


@pytest.mark.rule("rule 3")
async def test_check_that_names_no_kind_waits_for_none(
    server: ApiServer, watches: KindWatches[Template], name: Name
) -> None:
    server.answer("GET", GROUP_VERSION, hanging)
    name(OTHERS)
    async with asyncio.timeout(60):
        await watches.wait_tried(frozenset())


@pytest.mark.rule("rule 3")
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


class FailingState(ClusterState):
    """A state that fails to take in any check."""

    def check_changed(self, kind: CheckKind, reference: CheckReference, record: CheckRecord | None) -> None:
        super().check_changed(kind, reference, record)
        raise ZeroDivisionError


@pytest.mark.rule("rule 3")
async def test_kinds_of_a_check_are_watched_also_if_the_state_fails_to_take_it_in(
    server: ApiServer, transport: Transport
) -> None:
    observer = Observer(server, transport, FailingState("test"))
    check = check_object(remediationTemplate={"apiVersion": RESETS[0], "kind": RESETS[1], "name": "reset"})
    listed = said({"metadata": {"resourceVersion": "10"}, "items": [check]})
    observer.may_not_read(MACHINES, checks=listed)
    server.answer("GET", GROUP_VERSION, hanging)
    running = asyncio.create_task(observer.sources.run())
    await eventually(lambda: observer.sources.feeds.kinds.templates.get(RESETS) is not None)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


OF_NODES = CheckReference(kind="NodeHealthCheck", name="workers")
OF_MACHINES = CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers")
LIMIT = timedelta(minutes=1)
EMPTY = said({"metadata": {"resourceVersion": "10"}, "items": []})
FORBIDDEN = refused(403, "Forbidden")
MACHINE_CHECKS = resource_of(MACHINE_HEALTH_CHECK)


class Observer:
    """Sources of both kinds over a scripted API server."""

    def __init__(self, server: ApiServer, transport: Transport, state: ClusterState) -> None:
        self._server = server
        self.problems = Problems()
        scope = Watched(upgrade_signals=(), kinds=(NODE_HEALTH_CHECK, MACHINE_HEALTH_CHECK))
        self.sources = Sources(ClusterConnection.over(transport), state, scope, self.problems, Policy)
        self._answer(LEASES.path("leases"), EMPTY)

    def may_not_read(self, forbidden: Resource, checks: Answer = EMPTY) -> None:
        """`checks` answers the list of the checks of Nodes."""
        for resource in (NODES, NODE_HEALTH_CHECKS, NAMESPACES, MACHINES, MACHINE_CHECKS):
            answer = checks if resource == NODE_HEALTH_CHECKS else EMPTY
            self._answer(resource.path(), FORBIDDEN if resource == forbidden else answer)

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
    return Observer(server, transport, ClusterState("test"))


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
        async with asyncio.timeout(60):
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
