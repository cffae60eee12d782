"""Optional kinds: one that is not served makes nothing stale, and an unreadable one holds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import cast

import pytest

from detector.context.sources_of_checks import CheckFreshness
from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.feeds.source import Source, first_unread, unread
from detector.nodehealthcheck.kind import MACHINE_HEALTH_CHECKS
from detector.state.cluster_state import ClusterState
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.cluster.upgrade import CLUSTER_VERSION, NEVER_UPGRADED, UpgradePhase, UpgradeSignal
from health.gate.check_holds import UnreadSource
from health.kinds.check_kind import CheckKind
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.policy.policy import Policy
from kube.connection import ClusterConnection
from kube.resource import LEASES, NAMESPACES, NODES
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.api_server import FAR_AHEAD, NOT_SERVED, Answer, ApiServer, lines, refused, said
from tests.support.api.eventually import eventually
from tests.support.state.sources import Sources, Watched
from tests.support.values.builders import NOW, condition, node_object

CHECK = CheckReference(kind="NodeHealthCheck", name="workers")
NAMESPACE = "leases"
EMPTY = said({"metadata": {"resourceVersion": "10"}, "items": []})
SETTLED = UpgradeSignal.parse("example.com/v1/Fleet/Settled=False")
GROUP, OTHER_GROUP = "/apis/config.openshift.io/v1", "/apis/example.com/v1"
VERSIONS, FLEETS = f"{GROUP}/clusterversions", f"{OTHER_GROUP}/fleets"
OTHERS = MACHINE_HEALTH_CHECKS.path()
SERVED = {
    GROUP: said({"resources": [{"name": "clusterversions", "kind": "ClusterVersion", "namespaced": False}]}),
    OTHER_GROUP: said({"resources": [{"name": "fleets", "kind": "Fleet", "namespaced": True}]}),
}


class Observer:
    def __init__(self, server: ApiServer, transport: Transport) -> None:
        self._server = server
        self.problems = Problems()
        self.cluster_state = ClusterState("test")
        scope = Watched(lease_namespace=NAMESPACE, upgrade_signals=(CLUSTER_VERSION, SETTLED))
        self.policy = Policy(staleness_limit=timedelta(minutes=1))
        self.sources = Sources(
            ClusterConnection.over(transport), self.cluster_state, scope, self.problems, lambda: self.policy
        )
        for resource in (NODES, NODE_HEALTH_CHECKS, NAMESPACES):
            self.answer(resource.path(), EMPTY)
        self.answer(LEASES.path(NAMESPACE), EMPTY)

    def serve(self, *groups: str, nodes: Answer = FAR_AHEAD) -> None:
        """Serve the kinds of these groups only."""
        self._server.version(NODES.path(), nodes)
        for group, kinds in SERVED.items():
            self._server.answer("GET", group, kinds if group in groups else NOT_SERVED)

    def answer(self, path: str, *answers: Answer) -> None:
        self._server.answer("GET", path, *answers)
        self._server.watch(path, lines(then="silent"))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self.sources.run())
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    async def until_settled(self) -> None:
        async with asyncio.timeout(60):
            await self.sources.wait_settled()

    @property
    def freshness(self) -> CheckFreshness:
        return self.sources.of_checks.freshness(CHECK)


@pytest.fixture
def observer(server: ApiServer, transport: Transport) -> Observer:
    return Observer(server, transport)


@pytest.mark.rule("rule 36")
async def test_kinds_that_are_not_served_make_nothing_stale_and_no_process_unready(
    observer: Observer,
) -> None:
    observer.serve()
    observer.answer(OTHERS, NOT_SERVED)
    async with observer.open():
        await observer.until_settled()

        assert observer.freshness.inputs.unread_context is None
        assert not any("ClusterVersion" in source for source in observer.sources.ages())
        assert observer.cluster_state.cluster_context.upgrade == NEVER_UPGRADED
        await eventually(lambda: observer.problems.sentences == ())


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize(("unreadable", "other"), [(VERSIONS, OTHERS), (OTHERS, VERSIONS)])
async def test_kind_that_is_served_and_cannot_be_read_holds_and_does_not_hide_the_nodes(
    observer: Observer, unreadable: str, other: str
) -> None:
    observer.serve(GROUP)
    observer.answer(unreadable, refused(403, "Forbidden"))
    observer.answer(other, NOT_SERVED)
    async with observer.open():
        await observer.until_settled()

        assert "Forbidden" in str(observer.freshness.inputs.unread_context)
        assert observer.freshness.unread is None
        await eventually(lambda: any("Forbidden" in sentence for sentence in observer.problems.sentences))


@pytest.mark.rule("rule 36", "rule 3")
async def test_served_kind_without_an_object_is_an_unknown_upgrade_state(
    observer: Observer,
) -> None:
    observer.serve(GROUP)
    observer.answer(VERSIONS, EMPTY)
    observer.answer(OTHERS, NOT_SERVED)
    async with observer.open():
        await observer.until_settled()

        assert observer.cluster_state.cluster_context.upgrade.phase is UpgradePhase.UNKNOWN
        assert observer.freshness.inputs.unread_context is None


@pytest.mark.rule("rule 3")
async def test_kind_that_is_served_and_has_no_sign_of_life_holds(observer: Observer) -> None:
    observer.serve(GROUP)
    observer.answer(VERSIONS, EMPTY)
    observer.answer(OTHERS, NOT_SERVED)
    async with observer.open():
        await observer.until_settled()
        assert observer.freshness.inputs.unread_context is None
        observer.policy = Policy.model_construct(staleness_limit=timedelta())

        words = str(observer.freshness.inputs.unread_context)
        assert words.startswith(
            ("namespaces with metadata.name=leases: ", "ClusterVersion (config.openshift.io/v1): ")
        )
        assert "without any activity for too long (since 20" in words


@pytest.mark.rule("rule 3", "rule 36")
async def test_upgrade_state_that_was_never_read_is_unknown(observer: Observer) -> None:
    observer.serve(GROUP)
    observer.answer(VERSIONS, refused(403, "Forbidden"))
    observer.answer(OTHERS, NOT_SERVED)
    async with observer.open():
        await observer.until_settled()

        upgrade = observer.cluster_state.cluster_context.upgrade
        assert upgrade.phase is UpgradePhase.UNKNOWN
        assert "Forbidden" in upgrade.why_unknown


@pytest.mark.rule("rule 38", "rule 3")
async def test_signal_that_is_served_and_cannot_be_read_holds_as_well(observer: Observer) -> None:
    observer.serve(OTHER_GROUP)
    observer.answer(FLEETS, refused(403, "Forbidden"))
    observer.answer(OTHERS, NOT_SERVED)
    async with observer.open():
        await observer.until_settled()

        assert observer.cluster_state.cluster_context.upgrade.phase is UpgradePhase.UNKNOWN
        assert "Fleet (example.com/v1): " in str(observer.freshness.inputs.unread_context)
        await eventually(lambda: any("Fleet" in sentence for sentence in observer.problems.sentences))


@pytest.mark.rule("rule 36", "rule 3")
async def test_kind_that_comes_later_and_cannot_be_read_holds_from_when_it_is_found(
    server: ApiServer, observer: Observer
) -> None:
    observer.serve()
    server.answer("GET", GROUP, SERVED[GROUP])
    observer.answer(VERSIONS, refused(403, "Forbidden"))
    observer.answer(OTHERS, NOT_SERVED)
    async with observer.open():
        await observer.until_settled()
        assert observer.cluster_state.cluster_context.upgrade == NEVER_UPGRADED

        await eventually(lambda: "Forbidden" in observer.cluster_state.cluster_context.upgrade.why_unknown)
        assert "ClusterVersion (config.openshift.io/v1): " in str(observer.freshness.inputs.unread_context)
        await eventually(
            lambda: any("ClusterVersion" in sentence for sentence in observer.problems.sentences), 5
        )


async def test_context_of_one_kind_of_checks_is_watched_where_that_kind_is_handled(
    transport: Transport,
) -> None:
    def watched(kind: CheckKind) -> bool:
        connection = ClusterConnection.over(transport)
        context = ClusterContextWatch(connection, NAMESPACE, (), (kind.group_kind,), lambda: None)
        return any("machinehealthchecks" in part for part in context.sources)

    assert watched(NODE_HEALTH_CHECK)
    assert not watched(MACHINE_HEALTH_CHECK)


@pytest.mark.rule("rule 3")
async def test_answer_that_a_kind_is_not_served_grows_old_like_any_other(
    observer: Observer, transport: Transport
) -> None:
    observer.serve()
    connection = ClusterConnection.over(transport)
    context = ClusterContextWatch(connection, NAMESPACE, (CLUSTER_VERSION,), CHECK_KINDS, lambda: None)
    context.sources = {part: one for part, one in context.sources.items() if "ClusterVersion" in part}
    (source,) = context.sources.values()
    running = asyncio.create_task(source.run())
    await context.wait_tried()

    assert not source.is_served
    assert context.unread(NODE_HEALTH_CHECK.group_kind, timedelta(minutes=1)) is None
    assert "ClusterVersion" in str(context.unread(NODE_HEALTH_CHECK.group_kind, timedelta()))
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.mark.rule("rule 38")
async def test_signal_of_any_kind_is_an_upgrade_where_the_kind_is_served(observer: Observer) -> None:
    metadata = {
        "name": "blue",
        "namespace": "fleets",
        "uid": "u",
        "resourceVersion": "9",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    fleet = {"metadata": metadata, "status": {"conditions": [condition("Settled", "False")]}}
    observer.serve(OTHER_GROUP)
    observer.answer(FLEETS, said({"metadata": {"resourceVersion": "10"}, "items": [fleet]}))
    observer.answer(OTHERS, NOT_SERVED)
    async with observer.open():
        await observer.until_settled()

        upgrade = observer.cluster_state.cluster_context.upgrade
        assert (upgrade.phase, upgrade.sign) == (UpgradePhase.UNDER_WAY, "Fleet/fleets/blue: Settled=False")
        assert observer.freshness.inputs.unread_context is None


@pytest.mark.rule("rule 36", "rule 3")
async def test_404_of_another_server_than_an_api_server_does_not_mean_no_upgrade(observer: Observer) -> None:
    observer.serve(nodes=NOT_SERVED)
    observer.answer(OTHERS, EMPTY)
    async with observer.open():
        await eventually(
            lambda: any("no API server" in sentence for sentence in observer.problems.sentences), 5
        )

        assert observer.cluster_state.cluster_context.upgrade.phase is UpgradePhase.UNKNOWN


@pytest.mark.rule("rule 42", "rule 3")
async def test_namespace_of_the_leases_that_does_not_decode_stops_everything(
    server: ApiServer, observer: Observer
) -> None:
    observer.serve()
    observer.answer(OTHERS, NOT_SERVED)
    namespace = node_object(name=NAMESPACE)
    written = [{"manager": "kubectl", "time": "0000-01-01T00:00:00Z"}]
    namespace["metadata"] |= {"resourceVersion": "9", "managedFields": written}
    server.forget("GET", NAMESPACES.path())
    observer.answer(NAMESPACES.path(), said({"metadata": {"resourceVersion": "10"}, "items": [namespace]}))
    async with observer.open():
        await eventually(lambda: observer.cluster_state.cluster_context.stop is not None)
        stop = observer.cluster_state.cluster_context.stop
        assert stop is not None
        assert "metadata.managedFields[0].time" in stop.reason


LIMIT = timedelta(seconds=5)
REFUSED = "GET /api/v1/nodes was answered 403 Forbidden"


class WatchedSource:
    """A source that was read completely and then confirmed, unless `of_age` is None."""

    is_served = True
    unproven_since: datetime | None = NOW

    def __init__(self, of_age: timedelta | None, name: str = "nodes", problem: str = "") -> None:
        self._age, self.name, self.problem = of_age, name, problem
        self.synced = of_age is not None

    def age(self) -> timedelta | None:
        return self._age


def watched(of_age: timedelta | None, name: str = "nodes", problem: str = "") -> Source:
    return cast("Source", WatchedSource(of_age, name, problem))


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize(
    ("age", "is_unread"),
    [
        (timedelta(), False),
        (LIMIT, False),
        (LIMIT + timedelta(microseconds=1), True),
        (None, True),
    ],
    ids=["new", "exactly as old as it may be", "an instant too old", "never complete"],
)
def test_source_is_unread_once_it_is_too_old(age: timedelta | None, *, is_unread: bool) -> None:
    assert (unread(watched(age), LIMIT) is not None) == is_unread


def test_first_source_that_cannot_be_read_is_named_with_its_error_and_since_when() -> None:
    sources = (watched(timedelta(), "checks"), watched(None, "nodes", REFUSED), watched(None, "machines"))
    assert first_unread(sources, LIMIT) == UnreadSource("nodes", REFUSED, NOW)
    assert first_unread(sources[:1], LIMIT) is None
