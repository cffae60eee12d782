"""Annotations of an upgrade pause, written on the real API server with the rights of the worker."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from temporalio.testing import ActivityEnvironment

from activities.event_recorder import EventRecorder
from activities.upgrade_pauses import AT_ONCE, TAKES_LONG, TOLD_WITHIN, WarnOfLongUpgrade, WritePauses
from devcluster.control_plane import ControlPlane
from health.gate.pause import PAUSED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.references import CheckReference
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.memory import Handled, How
from health.upgrade.pausable_check import PausableCheck, PauseAction, PausePatch
from kube.client import Client
from kube.connection import ClusterConnection
from kube.discovery import Discovery
from kube.resource import EVENTS, Object, Resource, resource_of
from kube.transport import Transport
from objects.metadata import ObjectMetadata
from tests.activities.world import NAMESPACE
from tests.health.upgrade.looks import BEGAN, NOW
from workflows.upgrade_contracts import WarnOfLongUpgradeInput, WritePausesInput

pytestmark = [pytest.mark.cluster]

CHECKS = resource_of(MACHINE_HEALTH_CHECK)
MARK = "machine.openshift.io/paused-for-upgrade"


class Checks:
    """The checks of one test, made with the rights of an administrator."""

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
    """A client that notes the patches, and how many are under way together."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.patches: list[Object] = []
        self.under_way = self.most = 0

    async def merge_patch(
        self, resource: Resource, name: str, body: Object, namespace: str = "", subresource: str = ""
    ) -> Object:
        self.patches.append(body)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            return await super().merge_patch(resource, name, body, namespace, subresource)
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


async def written(client: Client, transport: Transport, *patches: PausePatch) -> tuple[PauseAnswer, ...]:
    connection = ClusterConnection(transport, client, Discovery(transport))
    asked = WritePausesInput(cluster="c", patches=patches)
    return (await ActivityEnvironment().run(WritePauses(connection).write_pauses, asked)).answers


async def outcomes(client: Client, transport: Transport, *patches: PausePatch) -> list[str]:
    return [str(one.outcome) for one in await written(client, transport, *patches)]


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
    assert [set(one["metadata"]) for one in client.patches] == [{"uid", "resourceVersion", "annotations"}] * 2


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


@pytest.mark.rule("MHC C.2/gone")
async def test_check_that_is_gone_is_answered_and_keeps_no_other(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    gone, other = await checks.make(), await checks.make("-b")
    await checks.delete(checks.name)
    patches = (to(PauseAction.PAUSE, one) for one in (gone, other))

    assert await outcomes(client, worker_transport, *patches) == [WriteOutcome.GONE, WriteOutcome.WRITTEN]


@pytest.mark.rule("rule 47")
async def test_missing_right_is_told_as_one(checks: Checks, control_plane: ControlPlane) -> None:
    before = await checks.make()
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        (answer,) = await written(Client(transport), transport, to(PauseAction.PAUSE, before))

    assert (answer.outcome, answer.is_forbidden) == (WriteOutcome.FAILED, True)
    assert "cannot patch" in answer.why
    assert await checks.annotations() == {"theirs": "kept"}


async def test_action_of_another_version_is_not_carried_out(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    (answer,) = await written(client, worker_transport, to("Sleep", await checks.make()))

    assert answer.outcome is WriteOutcome.FAILED
    assert "this version cannot Sleep" in answer.why
    assert client.patches == []


@pytest.mark.rule("MHC C.2/begin")
async def test_fleet_is_patched_with_a_bounded_number_at_once(
    checks: Checks, client: Watched, worker_transport: Transport
) -> None:
    made = await asyncio.gather(*(checks.make(f"-{number}") for number in range(2 * AT_ONCE)))
    patches = [to(PauseAction.PAUSE, one) for one in made]

    assert set(await outcomes(client, worker_transport, *patches)) == {WriteOutcome.WRITTEN}
    assert client.most == AT_ONCE
    assert len(client.patches) == len(made)


@pytest.mark.rule("MHC C.2/stuck")
async def test_check_is_told_once_of_an_upgrade_that_takes_long(
    checks: Checks, worker_transport: Transport
) -> None:
    made = await checks.make()
    handled = Handled(reference=made.reference, uid=made.uid, how=How.PAUSED)
    asked = WarnOfLongUpgradeInput(cluster="c", since=BEGAN, message="it takes long", checks=(handled,))
    recorder = EventRecorder(Client(worker_transport), "tests", lambda: NOW, longest=TOLD_WITHIN)
    warn = WarnOfLongUpgrade(recorder)
    for _ in range(2):
        await ActivityEnvironment().run(warn.warn_of_long_upgrade, asked)

    told = [one for one in await checks.client.list(EVENTS, NAMESPACE) if one["reason"] == TAKES_LONG]
    (event,) = [one for one in told if one["involvedObject"]["uid"] == made.uid]
    assert (event["type"], event["message"]) == ("Warning", "it takes long")
    await checks.client.delete(EVENTS, event["metadata"]["name"], NAMESPACE)
