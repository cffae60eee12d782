"""Annotations of an upgrade pause, written to the real API server with the rights of the worker."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities import sync_pauses
from activities.attempt import Clock
from activities.event_recorder import EventRecorder
from activities.sync_pauses import AT_ONCE, EVENT_TIMEOUT, FACTS_LAST, TAKES_LONG, TRIES, SyncPauses
from devcluster.control_plane import ControlPlane
from health.check.annotated_hold import PAUSED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.upgrade.decision import CheckPauseState, OrderName, PauseMoment, PauseOrderRecord, PauseRefusal
from health.upgrade.memory import PUT_OFF, CheckRow, SyncedChecks
from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import NotFound
from kube.listing import Paging
from kube.resource import EVENTS, Object, Resource, resource_of
from kube.transport import Transport
from tests.activities.clocks import Clocks
from tests.activities.world import NAMESPACE
from workflows.upgrade_contracts import SyncPausesInput

pytestmark = [pytest.mark.cluster]

NO_TIME = timedelta()
CHECKS = resource_of(MACHINE_HEALTH_CHECK)
MARK = "machine.openshift.io/paused-for-upgrade"
BEGAN = datetime.now(UTC).replace(microsecond=0)
OURS = {PAUSED: "", MARK: f"{BEGAN:%Y-%m-%dT%H:%M:%SZ}"}
UPGRADE = PauseMoment(now=BEGAN, is_under_way=True, began=BEGAN)
AFTERWARDS = PauseMoment(now=BEGAN, is_under_way=False, began=BEGAN)
MORE_THAN_A_PAGE = 50


class Checks:
    """The checks of one test, created with the rights of an administrator."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.name = f"test-{uuid4().hex[:8]}"
        self.made: set[str] = set()

    async def make(self, suffix: str = "", annotations: dict[str, str] | None = None) -> str:
        """Make a check, and return its uid."""
        name = f"{self.name}{suffix}"
        metadata = {"name": name, "annotations": {"theirs": "kept"} | (annotations or {})}
        unhealthy = [{"type": "Ready", "status": "False", "timeout": "5m"}]
        body: Object = {
            "apiVersion": CHECKS.api_version,
            "kind": CHECKS.kind,
            "metadata": metadata,
            "spec": {"selector": {}, "unhealthyConditions": unhealthy},
        }
        self.made.add(name)
        uid: str = (await self.client.create(CHECKS, body, NAMESPACE))["metadata"]["uid"]
        return uid

    async def annotations(self, suffix: str = "") -> dict[str, str]:
        found = await self.client.get(CHECKS, f"{self.name}{suffix}", NAMESPACE)
        of_check: dict[str, str] = found["metadata"]["annotations"]
        return {name: value for name, value in of_check.items() if name != "theirs"}

    async def annotate(self, **annotations: str | None) -> None:
        body: Object = {"metadata": {"annotations": annotations}}
        await self.client.merge_patch(CHECKS, self.name, body, NAMESPACE)

    async def delete(self, name: str) -> None:
        self.made.discard(name)
        await self.client.delete(CHECKS, name, NAMESPACE)

    def rows(self, synced: SyncedChecks) -> list[CheckRow]:
        return [row for row in synced.rows if row.check.rpartition("/")[2].startswith(self.name)]


class Watched(Client):
    """A client that records the patches and the number of concurrent requests."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.patches: list[Object] = []
        self.under_way = self.most = 0
        self.before_patch: Callable[[str], Awaitable[object]] | None = None

    async def merge_patch(
        self, resource: Resource, name: str, body: Object, namespace: str = "", subresource: str | None = None
    ) -> Object:
        self.patches.append(body)
        if self.before_patch is not None:
            await self.before_patch(name)
        async with self._counted():
            return await super().merge_patch(resource, name, body, namespace, subresource)

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            yield
        finally:
            self.under_way -= 1


@pytest.fixture
async def checks(control_plane: ControlPlane) -> AsyncIterator[Checks]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        made = Checks(Client(transport))
        yield made
        for name in sorted(made.made):
            await made.delete(name)


@pytest.fixture
def client(worker_transport: Transport) -> Watched:
    return Watched(worker_transport)


async def synced(  # noqa: PLR0913  how old it is, and what it is for
    client: Client,
    transport: Transport,
    moment: PauseMoment = UPGRADE,
    *,
    clocks: Clocks | None = None,
    age: timedelta | None = NO_TIME,
    waited: timedelta = NO_TIME,
    warning: str = "",
) -> SyncedChecks:
    clocks = clocks or Clocks()
    connection = ClusterConnection(transport, client)
    recorder = EventRecorder(Client(transport), "tests", lambda: BEGAN, longest=EVENT_TIMEOUT)
    sync = SyncPauses(connection, Clock(clocks.now, clocks.monotonic), recorder).sync_pauses
    seen_at = None if age is None else clocks.wall - age
    asked = SyncPausesInput(cluster="c", moment=moment, seen_at=seen_at, warning=warning)
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, started_time=environment.info.scheduled_time + waited)
    return await environment.run(sync, asked)


def ordered(order: OrderName, check: str | None) -> PauseOrderRecord:
    return PauseOrderRecord(number=1, order=order, check=check, reason="so I say", given=BEGAN)


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/end", "MHC C.2/found paused")
async def test_both_annotations_are_written_and_removed_by_one_patch_each(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    uid = await checks.make()
    await checks.make("-theirs", {PAUSED: "by hand"})
    before = datetime.now(UTC)
    done = await synced(client, worker_transport)
    assert await checks.annotations() == OURS
    assert before - timedelta(seconds=3) < done.listed_at <= before
    assert [(row.state, row.problem) for row in checks.rows(done)] == [
        (CheckPauseState.FOUND_PAUSED, None),
        (CheckPauseState.PAUSED, None),
    ]
    assert (await synced(client, worker_transport)).written == 0
    await synced(client, worker_transport, AFTERWARDS)

    assert await checks.annotations() == {}
    assert await checks.annotations("-theirs") == {PAUSED: "by hand"}
    ours = [patch["metadata"] for patch in client.patches if patch["metadata"]["uid"] == uid]
    assert [set(patch) for patch in ours] == [{"uid", "resourceVersion", "annotations"}] * 2


@pytest.mark.parametrize(
    ("moment", "annotations", "left"),
    [
        (AFTERWARDS, {MARK: ""}, {}),
        (
            replace(UPGRADE, orders=(ordered(OrderName.UNPAUSE, None),)),
            OURS,
            {MARK: OURS[MARK]},
        ),
    ],
)
async def test_one_annotation_is_removed_alone(  # noqa: PLR0913, PLR0917  fixtures
    checks: Checks,
    client: Watched,
    worker_transport: Transport,
    moment: PauseMoment,
    annotations: dict[str, str],
    left: dict[str, str],
) -> None:
    await checks.make(annotations=annotations)
    await synced(client, worker_transport, moment)

    assert await checks.annotations() == left


@pytest.mark.rule("MHC C.2/begin")
async def test_check_that_another_writer_changes_meanwhile_is_decided_again(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    await checks.make()
    edits = iter([{"label": "edited"}, {PAUSED: ""}])

    async def edit(name: str) -> None:
        if name == checks.name and (annotations := next(edits, None)):
            await checks.annotate(**annotations)

    client.before_patch = edit
    done = await synced(client, worker_transport)

    assert await checks.annotations() == {"label": "edited", PAUSED: ""}
    assert [row.state for row in checks.rows(done)] == [CheckPauseState.FOUND_PAUSED]


async def test_check_that_others_change_all_the_time_fails_and_is_left_to_the_next_sync(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    uid = await checks.make()
    client.before_patch = lambda _: checks.annotate(edit=uuid4().hex)
    done = await synced(client, worker_transport)

    assert [row.state for row in checks.rows(done)] == [CheckPauseState.AWAITED]
    assert f"was changed by others {TRIES} times" in str(checks.rows(done)[0].problem)
    assert (done.pending, done.failed) == ((uid,), 1)
    client.before_patch = None
    assert (await synced(client, worker_transport)).failed == 0


@pytest.mark.rule("MHC C.2/gone", "MHC C.2/created")
@pytest.mark.parametrize("is_made_anew", [True, False])
async def test_check_that_is_gone_before_its_patch_is_no_failure_and_keeps_no_other(
    checks: Checks, client: Watched, worker_transport: Transport, *, is_made_anew: bool
) -> None:
    await checks.make()
    await checks.make("-other")
    names = iter([checks.name])

    async def delete(name: str) -> None:
        if name == checks.name and next(names, None):
            await checks.delete(name)
            if is_made_anew:
                await checks.make()

    client.before_patch = delete
    done = await synced(client, worker_transport)

    assert done.failed == 0
    assert await checks.annotations("-other") == OURS
    if is_made_anew:
        assert await checks.annotations() == OURS
    else:
        with pytest.raises(NotFound):
            await checks.annotations()


@pytest.mark.rule("rule 34", "rule 41")
@pytest.mark.parametrize(
    ("age", "waited", "why"),
    [
        pytest.param(timedelta(seconds=7.1), NO_TIME, "admitted 7s ago", id="by the API server"),
        pytest.param(NO_TIME, timedelta(seconds=5.1), "waited 5s for a worker", id="by Temporal"),
        pytest.param(None, NO_TIME, "the order does not say when it was admitted", id="of an older version"),
    ],
)
async def test_nothing_is_written_by_an_old_state_of_the_upgrade(  # noqa: PLR0913, PLR0917  fixtures
    checks: Checks,
    client: Watched,
    worker_transport: Transport,
    age: timedelta | None,
    waited: timedelta,
    why: str,
) -> None:
    await checks.make(annotations=OURS)
    with pytest.raises(ApplicationError, match=why):
        await synced(client, worker_transport, AFTERWARDS, age=age, waited=waited)

    assert client.patches == []


@pytest.mark.rule("rule 34", "rule 41")
async def test_worker_that_was_frozen_writes_nothing_more_and_says_what_is_left(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    for number in range(2 * AT_ONCE):
        await checks.make(f"-{number}", OURS)
    clocks = Clocks()

    async def freeze(_: str) -> None:
        clocks.run(NO_TIME, FACTS_LAST + timedelta(seconds=1))

    client.before_patch = freeze
    done = await synced(client, worker_transport, AFTERWARDS, clocks=clocks)

    assert 0 < done.written <= AT_ONCE
    assert done.put_off == done.failed >= AT_ONCE
    assert {row.problem for row in checks.rows(done)} == {None, PUT_OFF}
    await synced(client, worker_transport, AFTERWARDS)
    assert [await checks.annotations(f"-{number}") for number in range(2 * AT_ONCE)] == [{}] * (2 * AT_ONCE)


@pytest.mark.rule("rule 47")
async def test_missing_right_is_reported_for_each_check_and_nothing_counts_as_written(
    checks: Checks, control_plane: ControlPlane
) -> None:
    await checks.make()
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        done = await synced(Client(transport), transport)

    (row,) = checks.rows(done)
    assert (row.state, done.written) == (CheckPauseState.AWAITED, 0)
    assert "cannot patch" in str(row.problem)
    assert await checks.annotations() == {}


async def test_names_in_orders_are_those_of_the_checks_there_are(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    await checks.make(annotations=OURS)
    orders = (ordered(OrderName.UNPAUSE, checks.name), ordered(OrderName.PAUSE, "nobody"))
    orders = (orders[0], replace(orders[1], number=2))
    done = await synced(client, worker_transport, replace(UPGRADE, orders=orders))

    assert await checks.annotations() == {MARK: OURS[MARK]}
    assert [order.check for order in done.orders] == [f"MachineHealthCheck/{NAMESPACE}/{checks.name}"]
    assert [(one.number, one.refused) for one in done.refused] == [(2, PauseRefusal.UNKNOWN_CHECK)]


@pytest.mark.rule("MHC C.2/begin")
async def test_fleet_is_listed_in_pages_and_patched_with_a_bounded_number_at_once(
    checks: Checks, client: Watched, worker_transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_pauses, "PAGING", Paging(limit=MORE_THAN_A_PAGE // 3))
    await asyncio.gather(*(checks.make(f"-{number}") for number in range(MORE_THAN_A_PAGE)))
    done = await synced(client, worker_transport)

    assert (done.paused, done.written, done.failed) == (MORE_THAN_A_PAGE, MORE_THAN_A_PAGE, 0)
    assert client.most == AT_ONCE


@pytest.mark.rule("MHC C.2/stuck")
async def test_paused_check_gets_one_event_about_a_long_upgrade(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    uid = await checks.make()
    await checks.make("-theirs", {PAUSED: ""})
    for _ in range(2):
        await synced(client, worker_transport, warning="it takes long")

    told: list[Any] = [
        one for one in await checks.client.list(EVENTS, NAMESPACE) if one["reason"] == TAKES_LONG
    ]
    (event,) = [one for one in told if one["involvedObject"]["name"].startswith(checks.name)]
    assert event["involvedObject"]["uid"] == uid
    assert (event["type"], event["message"]) == ("Warning", "it takes long")
    await checks.client.delete(EVENTS, event["metadata"]["name"], NAMESPACE)
