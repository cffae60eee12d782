"""Annotations of an upgrade pause, written to the real API server with the rights of the worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from temporalio.testing import ActivityEnvironment

from activities.event_recorder import EventRecorder
from activities.fact_age import Clock
from activities.upgrade_pauses import AT_ONCE, EVENT_TIMEOUT, TAKES_LONG, WarnOfLongUpgrade, WritePauses
from devcluster.control_plane import ControlPlane
from health.check.pause import PAUSED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.references import CheckReference
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.memory import CheckPauseState, Handled
from health.upgrade.pausable_check import PausableCheck, PauseAction, PausePatch
from kube.client import Client
from kube.connection import ClusterConnection
from kube.discovery import Discovery
from kube.resource import EVENTS, Object, Resource, resource_of
from kube.transport import Transport
from objects.group_kind import ServedKind
from objects.metadata import ObjectMetadata
from tests.activities.clocks import Clocks
from tests.activities.reading_for import ReadingFor
from tests.activities.world import NAMESPACE
from tests.support.values.looks import BEGAN, NOW
from workflows.upgrade_contracts import WarnOfLongUpgradeInput, WritePausesInput

pytestmark = [pytest.mark.cluster]

NO_TIME = timedelta()
CHECKS = resource_of(MACHINE_HEALTH_CHECK)
MARK = "machine.openshift.io/paused-for-upgrade"


class Checks:
    """The checks of one test, created with the rights of an administrator."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.name = f"test-{uuid4().hex[:8]}"
        self.made: set[str] = set()

    async def make(self, suffix: str = "", annotations: dict[str, str] | None = None) -> PausableCheck:
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
        return _seen(await self.client.create(CHECKS, body, NAMESPACE))

    async def look(self, suffix: str = "") -> Object:
        return await self.client.get(CHECKS, f"{self.name}{suffix}", NAMESPACE)

    async def annotations(self, suffix: str = "") -> dict[str, str]:
        found: dict[str, str] = (await self.look(suffix))["metadata"]["annotations"]
        return found

    async def edit(self, suffix: str = "") -> None:
        body: Object = {"metadata": {"labels": {"edited": "yes"}}}
        await self.client.merge_patch(CHECKS, f"{self.name}{suffix}", body, NAMESPACE)

    async def delete(self, name: str) -> None:
        self.made.discard(name)
        await self.client.delete(CHECKS, name, NAMESPACE)


class Watched(Client):
    """A client that records the patches and the number of concurrent requests."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.patches: list[Object] = []
        self.under_way = self.most = 0

    async def merge_patch(
        self, resource: Resource, name: str, body: Object, namespace: str = "", subresource: str = ""
    ) -> Object:
        self.patches.append(body)
        async with self._counted():
            return await super().merge_patch(resource, name, body, namespace, subresource)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        async with self._counted():
            return await super().get(resource, name, namespace)

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            yield
        finally:
            self.under_way -= 1


def _seen(found: Object) -> PausableCheck:
    metadata = ObjectMetadata.model_validate(found["metadata"])
    reference = CheckReference(kind=CHECKS.kind, namespace=NAMESPACE, name=metadata.name)
    annotations = MACHINE_HEALTH_CHECK.upgrade_pause
    assert annotations is not None
    return PausableCheck.of(reference, metadata, annotations)


def to(action: str, check: PausableCheck, **changes: Any) -> PausePatch:
    known = check.model_dump(include={"reference", "uid", "resource_version"})
    return PausePatch.model_validate(known | {"action": action} | changes)


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


class FrozenAfterwards(Discovery):
    """The worker freezes right after discovery of the checks' kind."""

    def __init__(self, transport: Transport, clocks: Clocks, wall: timedelta, monotonic: timedelta) -> None:
        super().__init__(transport)
        self._freeze = partial(clocks.run, wall, monotonic)

    async def first_served(self, kind: ServedKind) -> Resource:
        found = await super().first_served(kind)
        self._freeze()
        return found


async def written(client: Client, transport: Transport, *patches: PausePatch) -> tuple[PauseAnswer, ...]:
    return await written_by(Discovery(transport), client, transport, *patches)


async def written_by(  # noqa: PLR0913  how old, and who is frozen
    discovery: Discovery,
    client: Client,
    transport: Transport,
    *patches: PausePatch,
    clocks: Clocks | None = None,
    age: timedelta | None = NO_TIME,
    waited: timedelta = NO_TIME,
) -> tuple[PauseAnswer, ...]:
    connection, clocks = ClusterConnection(transport, client, discovery), clocks or Clocks()
    seen_at = None if age is None else clocks.wall - age
    asked = WritePausesInput(cluster="c", patches=patches, seen_at=seen_at)
    write = WritePauses(connection, Clock(clocks.now, clocks.monotonic)).write_pauses
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, started_time=environment.info.scheduled_time + waited)
    return (await environment.run(write, asked)).answers


async def outcomes(client: Client, transport: Transport, *patches: PausePatch) -> list[str]:
    return [str(answer.outcome) for answer in await written(client, transport, *patches)]


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/end")
async def test_both_annotations_are_written_and_removed_by_one_patch_each(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    before = await checks.make()
    assert await outcomes(client, worker_transport, to(PauseAction.PAUSE, before)) == [WriteOutcome.WRITTEN]
    assert await checks.annotations() == {"theirs": "kept", PAUSED: "", MARK: ""}
    paused = _seen(await checks.look())
    assert (paused.is_paused, paused.is_marked) == (True, True)
    assert await outcomes(client, worker_transport, to(PauseAction.UNPAUSE, paused)) == [WriteOutcome.WRITTEN]

    assert await checks.annotations() == {"theirs": "kept"}
    assert [set(patch["metadata"]) for patch in client.patches] == [
        {"uid", "resourceVersion", "annotations"}
    ] * 2


@pytest.mark.parametrize(
    ("action", "left"),
    [(PauseAction.UNPAUSE_MARKED, {MARK: ""}), (PauseAction.REMOVE_MARK, {PAUSED: ""})],
)
async def test_one_annotation_is_removed_alone(
    checks: Checks, client: Watched, worker_transport: Transport, action: str, left: dict[str, str]
) -> None:
    paused = await checks.make(annotations={PAUSED: "", MARK: ""})
    assert await outcomes(client, worker_transport, to(action, paused)) == [WriteOutcome.WRITTEN]

    assert await checks.annotations() == {"theirs": "kept"} | left


@pytest.mark.rule("MHC C.2/begin")
async def test_check_that_changed_since_it_was_seen_is_not_touched(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    before = await checks.make()
    await checks.edit()
    (answer,) = await written(client, worker_transport, to(PauseAction.PAUSE, before))

    assert answer.outcome is WriteOutcome.CONFLICT
    assert answer.why
    assert await checks.annotations() == {"theirs": "kept"}


async def test_check_made_anew_under_its_name_is_not_touched(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    before = await checks.make()
    await checks.delete(checks.name)
    anew = await checks.make()
    meant = to(PauseAction.PAUSE, before, resource_version=anew.resource_version)
    answers = await outcomes(client, worker_transport, to(PauseAction.PAUSE, before), meant)

    assert WriteOutcome.WRITTEN not in answers
    assert await checks.annotations() == {"theirs": "kept"}


@pytest.mark.rule("rule 34", "rule 41")
@pytest.mark.parametrize(
    ("age", "waited", "why"),
    [
        pytest.param(timedelta(seconds=7.1), NO_TIME, "admitted 7s ago", id="by the API server"),
        pytest.param(NO_TIME, timedelta(seconds=5.1), "waited 5s for a worker", id="by Temporal"),
        pytest.param(None, NO_TIME, "the order does not say when it was admitted", id="of an older version"),
    ],
)
async def test_patch_that_was_decided_on_old_facts_is_not_written(  # noqa: PLR0913, PLR0917  fixtures
    checks: Checks,
    client: Watched,
    worker_transport: Transport,
    age: timedelta | None,
    waited: timedelta,
    why: str,
) -> None:
    patch = to(PauseAction.UNPAUSE, await checks.make(annotations={PAUSED: "", MARK: ""}))
    discovery = Discovery(worker_transport)
    (answer,) = await written_by(discovery, client, worker_transport, patch, age=age, waited=waited)

    assert answer.outcome is WriteOutcome.REFUSED
    assert why in answer.why
    assert client.patches == []


@pytest.mark.rule("rule 34", "rule 41")
@pytest.mark.parametrize(
    ("wall", "monotonic"),
    [
        pytest.param(timedelta(seconds=7.1), NO_TIME, id="by the API server"),
        pytest.param(timedelta(seconds=-60), timedelta(seconds=5.1), id="by the clock that nobody sets"),
    ],
)
async def test_worker_that_was_frozen_before_it_writes_unpauses_nothing_in_the_next_upgrade(
    checks: Checks, client: Watched, worker_transport: Transport, wall: timedelta, monotonic: timedelta
) -> None:
    patch = to(PauseAction.UNPAUSE, await checks.make(annotations={PAUSED: "", MARK: ""}))
    clocks = Clocks()
    frozen = FrozenAfterwards(worker_transport, clocks, wall, monotonic)
    (answer,) = await written_by(frozen, client, worker_transport, patch, clocks=clocks)

    assert answer.outcome is WriteOutcome.REFUSED
    assert await checks.annotations() == {"theirs": "kept", PAUSED: "", MARK: ""}


@pytest.mark.rule("rule 34", "rule 47")
@pytest.mark.parametrize(
    ("annotations", "late"),
    [({PAUSED: "", MARK: ""}, PauseAction.UNPAUSE), ({}, PauseAction.PAUSE)],
    ids=["unpause", "pause"],
)
async def test_settled_check_keeps_its_pause_and_refuses_the_patch_that_was_lost(
    checks: Checks, client: Watched, worker_transport: Transport, annotations: dict[str, str], late: str
) -> None:
    before = await checks.make(annotations=annotations)
    seen = before
    for _ in range(2):
        settle, lost = to(PauseAction.SETTLE, seen), to(late, seen)
        assert await outcomes(client, worker_transport, settle) == [WriteOutcome.WRITTEN]
        assert await outcomes(client, worker_transport, lost) == [WriteOutcome.CONFLICT]
        seen = _seen(await checks.look())

    assert (seen.is_paused, seen.is_marked) == (before.is_paused, True)


@pytest.mark.rule("MHC C.2/gone")
async def test_check_that_is_gone_is_answered_and_keeps_no_other(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    gone, other = await checks.make(), await checks.make("-b")
    await checks.delete(checks.name)
    patches = (to(PauseAction.PAUSE, check) for check in (gone, other))

    assert await outcomes(client, worker_transport, *patches) == [WriteOutcome.GONE, WriteOutcome.WRITTEN]


@pytest.mark.rule("rule 47")
async def test_missing_right_is_reported_as_one(checks: Checks, control_plane: ControlPlane) -> None:
    before = await checks.make()
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        reader = ReadingFor(checks.client, transport)
        (answer,) = await written(reader, transport, to(PauseAction.PAUSE, before))

    assert (answer.outcome, answer.is_refused) == (WriteOutcome.REFUSED, True)
    assert "cannot patch" in answer.why
    assert await checks.annotations() == {"theirs": "kept"}


async def test_action_of_another_version_is_not_carried_out(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    (answer,) = await written(client, worker_transport, to("Sleep", await checks.make()))

    assert answer.outcome is WriteOutcome.REFUSED
    assert "this version cannot Sleep" in answer.why
    assert client.patches == []


@pytest.mark.rule("rule 52")
@pytest.mark.parametrize(
    ("action", "annotations"),
    [
        (PauseAction.PAUSE, {PAUSED: ""}),
        (PauseAction.SETTLE, {PAUSED: ""}),
        (PauseAction.UNPAUSE, {PAUSED: ""}),
        (PauseAction.UNPAUSE_MARKED, {PAUSED: ""}),
        (PauseAction.REMOVE_MARK, {}),
    ],
)
async def test_pause_that_is_not_ours_is_left_alone_whatever_is_ordered(
    checks: Checks,
    client: Watched,
    worker_transport: Transport,
    action: PauseAction,
    annotations: dict[str, str],
) -> None:
    theirs = await checks.make(annotations=annotations)
    (answer,) = await written(client, worker_transport, to(action, theirs))
    assert (answer.outcome, client.patches) == (WriteOutcome.REFUSED, [])
    assert await checks.annotations() == {"theirs": "kept"} | annotations


@pytest.mark.rule("rule 52")
@pytest.mark.parametrize(
    "forged",
    [
        {"uid": ""},
        {"resource_version": ""},
        {"reference": CheckReference(kind="NodeHealthCheck", name="any")},
        {"reference": CheckReference(kind="Machine", namespace=NAMESPACE, name="any")},
    ],
    ids=["no-uid", "no-version", "a-kind-that-is-not-paused", "a-target"],
)
async def test_order_that_names_no_check_as_it_is_writes_nothing(
    checks: Checks, client: Watched, worker_transport: Transport, forged: dict[str, Any]
) -> None:
    check = await checks.make()
    assert WriteOutcome.WRITTEN not in await outcomes(
        client, worker_transport, to(PauseAction.PAUSE, check, **forged)
    )
    assert client.patches == []


@pytest.mark.rule("MHC C.2/begin")
async def test_fleet_is_patched_with_a_bounded_number_at_once(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    made = await asyncio.gather(*(checks.make(f"-{number}") for number in range(2 * AT_ONCE)))
    patches = [to(PauseAction.PAUSE, check) for check in made]

    assert set(await outcomes(client, worker_transport, *patches)) == {WriteOutcome.WRITTEN}
    assert client.most == AT_ONCE
    assert len(client.patches) == len(made)


@pytest.mark.rule("MHC C.2/stuck")
async def test_check_gets_one_event_about_a_long_upgrade(checks: Checks, worker_transport: Transport) -> None:
    made = await checks.make()
    handled = Handled(reference=made.reference, uid=made.uid, how=CheckPauseState.PAUSED)
    asked = WarnOfLongUpgradeInput(cluster="c", since=BEGAN, message="it takes long", checks=(handled,))
    recorder = EventRecorder(Client(worker_transport), "tests", lambda: NOW, longest=EVENT_TIMEOUT)
    warn = WarnOfLongUpgrade(recorder)
    for _ in range(2):
        await ActivityEnvironment().run(warn.warn_of_long_upgrade, asked)

    told = [one for one in await checks.client.list(EVENTS, NAMESPACE) if one["reason"] == TAKES_LONG]
    (event,) = [one for one in told if one["involvedObject"]["uid"] == made.uid]
    assert (event["type"], event["message"]) == ("Warning", "it takes long")
    await checks.client.delete(EVENTS, event["metadata"]["name"], NAMESPACE)
