"""The detector's part of upgrade pauses on a scripted API server: it watches, answers, starts and wakes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from detector.answers.answering import NotLeading
from detector.dispatching.reconciler import ReconcilerDependencies
from detector.upgrade.pausable_checks import PausableChecks
from detector.upgrade.pause_state import PauseState
from detector.upgrade.upgrade_pauses import UpgradeMetrics, UpgradePauses, UpgradeSources
from detector.upgrade.upgrade_workflow import UpgradeKey
from health.check.pause import PAUSED
from health.cluster.pause_progress import PauseProgress
from health.cluster.upgrade import NEVER_UPGRADED, Upgrade, UpgradePhase
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.policy.policy import Policy
from health.policy.shadow import SHADOW
from health.upgrade.observation import UpgradeObservation
from kube.connection import ClusterConnection
from kube.reflector_settings import patient
from kube.resource import resource_of
from kube.transport import Transport
from runtime.guard import Guard
from runtime.problems import Problems
from tests.support.api.api_server import NOT_SERVED, ApiServer, LiveWatch, said
from tests.support.api.eventually import eventually
from tests.support.values.builders import NOW
from workflows.upgrade_contracts import UPGRADE_PAUSE, ObserveUpgradeInput, UpgradePauseInput

CHECKS = resource_of(MACHINE_HEALTH_CHECK)
MARK = "machine.openshift.io/paused-for-upgrade"
OURS = {PAUSED: "", MARK: ""}
UNDER_WAY = Upgrade(phase=UpgradePhase.UNDER_WAY, since=NOW, sign="ClusterVersion/version: Progressing=True")
OVER = Upgrade(phase=UpgradePhase.OVER, since=NOW)


def check(name: str, version: int = 1, **annotations: str) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "machines",
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": annotations,
    }
    return {"apiVersion": CHECKS.api_version, "kind": CHECKS.kind, "metadata": metadata}


class Temporal:
    """Records the calls of a client of Temporal."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.started: list[UpgradePauseInput] = []
        self.is_open = False
        self.looks = 0

    def __call__(self) -> Client:
        return cast("Client", self)

    async def start_workflow(self, name: str, start: UpgradePauseInput, **given: Any) -> None:
        self.calls.append(f"start {name} {given['id']} or {given['start_signal']}")
        self.started.append(start)
        self.is_open = True

    def get_workflow_handle(self, workflow_id: str) -> Any:
        return SimpleNamespace(signal=self._signal, describe=self._describe, id=workflow_id)

    async def _signal(self, name: str, **_: Any) -> None:
        if not self.is_open:
            raise RPCError("it has ended", RPCStatusCode.NOT_FOUND, b"")
        self.calls.append(name)

    async def _describe(self, **_: Any) -> Any:
        self.looks += 1
        if not self.is_open:
            raise RPCError("there is none", RPCStatusCode.NOT_FOUND, b"")
        return SimpleNamespace(status=WorkflowExecutionStatus.RUNNING)


STARTED = f"start {UPGRADE_PAUSE} upgrade/main-0a1b or wake"


class World:
    """The upgrade pauses of a detector and their surroundings."""

    def __init__(self, server: ApiServer, transport: Transport) -> None:
        self._server = server
        self._transport = transport
        self.temporal = Temporal()
        self.upgrade = NEVER_UPGRADED
        self.serves_signals = True
        self.unread_signals = ""
        self.is_leader = True
        self.policy = Policy()
        self.refreshed = 0
        self.watch = LiveWatch()
        self._make(is_on=True)

    def turn_off(self) -> None:
        self._make(is_on=False)

    def _serve(self, *checks: dict[str, Any]) -> None:
        listed = {"metadata": {"resourceVersion": "10"}, "items": list(checks)}
        self._server.answer("GET", CHECKS.path(), said(listed))
        self._server.watch(CHECKS.path(), self.watch)

    def becomes(self, upgrade: Upgrade) -> None:
        self.upgrade = upgrade
        self.pause_state.changed.set()

    async def see(self, kind: str, seen: dict[str, Any]) -> None:
        before = self.upgrades.observe().checks
        self.watch.send({"type": kind, "object": seen})
        await eventually(lambda: self.upgrades.observe().checks != before)

    async def ask(self, handled: tuple[str, ...] = ()) -> UpgradeObservation:
        asked = ObserveUpgradeInput(
            cluster="main-0a1b", transitions=(NOW,), handled=handled, takes_pages=True
        )
        return await self.upgrades.observe_upgrade(asked)

    @property
    def asked_for_checks(self) -> bool:
        return bool(self._server.lists() or self._server.watches())

    @asynccontextmanager
    async def running(self, *checks: dict[str, Any]) -> AsyncIterator[None]:
        """Run with these checks; the default is the check `workers`, which is not paused."""
        self._serve(*checks or (check("workers"),))
        parts = [asyncio.create_task(part) for part in (self.upgrades.run(), self.upgrades.lead())]
        yield
        for task in parts:
            assert not task.done()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def until_called(self, *calls: str) -> None:
        await eventually(lambda: self.temporal.calls == [*calls])

    def _refresh(self) -> None:
        self.refreshed += 1

    def _make(self, *, is_on: bool) -> None:
        self.pause_state = PauseState(lambda: self.serves_signals, is_on=is_on)
        self.upgrades = UpgradePauses(
            UpgradeKey("main-0a1b"),
            self.temporal,
            self.pause_state,
            UpgradeSources(
                lambda: self.upgrade, lambda: self.unread_signals, self._refresh, lambda: self.policy
            ),
            checks=PausableChecks(
                ClusterConnection.over(self._transport),
                CHECK_KINDS.values(),
                self.pause_state.changed.set,
                patient,
                lambda annotations: SHADOW in annotations,
            ),
            dependencies=ReconcilerDependencies(lambda: self.is_leader, lambda: NOW, Guard(), Problems()),
            long_upgrade=timedelta(hours=1),
        )


@pytest.fixture
def world(server: ApiServer, transport: Transport) -> World:
    return World(server, transport)


@pytest.mark.rule("rule 43")
async def test_check_in_shadow_is_left_out_unless_its_pause_is_ours_to_end(world: World) -> None:
    shadow = {SHADOW: "true"}
    async with world.running(check("real"), check("shadow", 1, **shadow), check("ours", 1, **shadow, **OURS)):
        await eventually(lambda: world.upgrades.observe().checks)

        assert {one.reference.name for one in world.upgrades.observe().checks} == {"real", "ours"}


@pytest.mark.rule("rule 36")
async def test_without_a_signal_of_upgrades_nothing_is_watched_or_called(world: World) -> None:
    world.serves_signals = False
    async with world.running():
        await asyncio.sleep(0)

        assert world.pause_state.progress() is None
        assert not world.asked_for_checks
        assert world.temporal.calls == []


@pytest.mark.parametrize("upgrade", [UNDER_WAY, OVER])
async def test_where_a_setting_turns_it_off_nothing_is_watched_or_started_with_any_mark(
    world: World, upgrade: Upgrade
) -> None:
    world.turn_off()
    world.upgrade = upgrade
    async with world.running(check("workers", 1, **OURS)):
        await eventually(lambda: world.temporal.looks)

        assert world.pause_state.progress() is None
        assert not world.asked_for_checks
        assert world.temporal.calls == []


@pytest.mark.parametrize(
    "upgrade", [UNDER_WAY, Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="nobody knows")]
)
async def test_one_that_is_open_when_a_setting_turns_it_off_is_woken_to_give_back(
    world: World, upgrade: Upgrade
) -> None:
    world.turn_off()
    world.upgrade, world.unread_signals = upgrade, "forbidden"
    world.temporal.is_open = True
    async with world.running(check("workers", 1, **OURS)):
        await world.until_called("wake")
        seen = await world.ask(handled=("uid-workers",))

        assert (seen.is_turned_off, seen.is_over, seen.why_nothing_is_done) == (True, True, "")
        assert [one.uid for one in seen.checks] == ["uid-workers"]
        # The upgrade itself holds the check from now on.
        assert world.pause_state.progress() is None
        world.temporal.is_open = False
        await world.see("MODIFIED", check("workers", 12))
        await eventually(lambda: world.temporal.looks > 1)
        assert world.temporal.started == []


async def test_one_that_is_open_is_woken_also_where_nothing_signals_upgrades_any_more(world: World) -> None:
    world.serves_signals, world.temporal.is_open = False, True
    async with world.running(check("workers", 1, **OURS)):
        await world.until_called(STARTED)


async def test_kind_that_signals_upgrades_and_comes_later_is_enough_to_begin(world: World) -> None:
    world.serves_signals = False
    async with world.running():
        world.serves_signals, world.upgrade = True, UNDER_WAY

        await world.until_called(STARTED)


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/created")
async def test_upgrade_starts_the_workflow_and_each_pause_that_changes_wakes_it(world: World) -> None:
    world.upgrade = OVER
    async with world.running():
        await eventually(lambda: len(world.upgrades.observe().checks) == 1)
        assert world.temporal.calls == []
        world.becomes(UNDER_WAY)
        await world.until_called(STARTED)
        seen = await world.ask()
        assert seen.checks[0].reference.name == "workers"
        assert seen.long_upgrade == timedelta(hours=1)

        await world.see("ADDED", check("later", 11))
        await world.until_called(STARTED, STARTED)


@pytest.mark.rule("MHC C.2/restart")
async def test_workflow_that_was_terminated_is_started_again_at_the_next_look(world: World) -> None:
    world.upgrade = UNDER_WAY
    async with world.running():
        await world.until_called(STARTED)
        await world.ask(handled=("uid-workers",))
        world.temporal.is_open = False
        await world.see("MODIFIED", check("workers", 11, **OURS))

        await world.until_called(STARTED, STARTED)
        assert world.temporal.is_open


@pytest.mark.rule("rule 6")
async def test_edit_that_changes_no_pause_wakes_no_workflow(world: World) -> None:
    world.upgrade = UNDER_WAY
    async with world.running():
        await world.until_called(STARTED)
        await world.ask()
        await world.see("MODIFIED", check("workers", 11, team="infra"))
        world.becomes(replace(UNDER_WAY, sign="another one of them"))
        await world.see("MODIFIED", check("workers", 12, **OURS))

        await world.until_called(STARTED, STARTED)


@pytest.mark.rule("MHC C.2/end over which nothing ran", "MHC C.2/left mark")
@pytest.mark.parametrize("upgrade", [OVER, NEVER_UPGRADED])
async def test_mark_that_an_upgrade_left_starts_the_workflow(world: World, upgrade: Upgrade) -> None:
    world.upgrade = upgrade
    async with world.running(check("workers", 1, **{MARK: ""})):
        await world.until_called(STARTED)


@pytest.mark.rule("rule 36/annotations")
async def test_unknown_upgrade_state_starts_nothing_and_wakes_an_open_pause(world: World) -> None:
    world.upgrade = Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="there is no ClusterVersion")
    world.temporal.is_open = True
    async with world.running(check("workers", 1, **OURS)):
        await world.until_called("wake")

        assert (await world.ask()).why_nothing_is_done.endswith("there is no ClusterVersion")


@pytest.mark.rule("rule 36/annotations")
async def test_answer_names_the_facts_that_are_not_known_well_enough(world: World) -> None:
    world.upgrade = UNDER_WAY
    async with world.running():
        await eventually(lambda: world.upgrades.observe().unread == "")
        world.policy = Policy.model_construct(staleness_limit=timedelta())
        assert "machinehealthchecks.machine.openshift.io" in (await world.ask()).unread

        world.policy = Policy()
        world.unread_signals = "ClusterVersion (config.openshift.io/v1): forbidden"
        assert (await world.ask()).unread == world.unread_signals


async def test_kind_of_check_that_is_not_served_has_none(world: World, server: ApiServer) -> None:
    server.answer("GET", CHECKS.path(), NOT_SERVED)
    world.upgrade = UNDER_WAY
    async with world.running():
        await world.until_called(STARTED)
        seen = await world.ask()

        assert (seen.checks, seen.unread) == ((), "")


@pytest.mark.rule("rule 46", "rule 34")
async def test_handled_checks_come_with_the_question_and_count_from_then_on(world: World) -> None:
    world.upgrade = UNDER_WAY
    async with world.running():
        await world.until_called(STARTED)
        assert world.pause_state.progress() == PauseProgress()
        refreshed = world.refreshed
        await world.ask(handled=("uid-workers",))

        assert world.pause_state.progress() == PauseProgress(frozenset({NOW}), frozenset({"uid-workers"}))
        assert world.refreshed == refreshed + 1


@pytest.mark.rule("rule 46")
async def test_detector_that_takes_the_lead_anew_holds_until_it_has_been_asked_again(world: World) -> None:
    world.upgrade = UNDER_WAY
    async with world.running():
        await world.until_called(STARTED)
        await world.ask(handled=("uid-workers",))
    async with world.running():
        await world.until_called(STARTED, STARTED)

        assert world.pause_state.progress() == PauseProgress()


async def test_detector_that_does_not_lead_answers_no_question_and_logs_no_warning(world: World) -> None:
    world.is_leader = False

    with pytest.raises(NotLeading) as refused:
        await world.ask(handled=("uid-workers",))
    assert refused.value.category is ApplicationErrorCategory.BENIGN  # the SDK logs it at DEBUG
    assert world.pause_state.progress() == PauseProgress()


async def test_metrics_say_how_long_the_upgrade_lasts_and_how_many_checks_are_paused_for_it(
    world: World,
) -> None:
    registry = CollectorRegistry()
    registry.register(UpgradeMetrics(world.upgrades, lambda: NOW + timedelta(minutes=2)))
    world.upgrade = UNDER_WAY
    checks = [
        check(name, 1, **says)
        for name, says in {"ours": OURS, "anothers": {PAUSED: ""}, "unpaused": {MARK: ""}}.items()
    ]
    async with world.running(*checks):
        await eventually(lambda: len(world.upgrades.observe().checks) == 3)
        assert shown(registry) == {"paramedic_upgrade_seconds": 120, "paramedic_upgrade_paused_checks": 1}

        world.upgrade = OVER
        assert shown(registry) == {"paramedic_upgrade_paused_checks": 1}
        world.is_leader = False
        assert shown(registry) == {}


def shown(registry: CollectorRegistry) -> dict[str, float]:
    return {sample.name: sample.value for family in registry.collect() for sample in family.samples}
