"""The detector's part of upgrade pauses: it answers its workflow, starts and wakes it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from detector.answers.answering import NotLeading
from detector.upgrade import upgrade_pauses
from detector.upgrade.upgrade_pauses import UpgradeMetrics, UpgradePauses
from health.check.annotated_hold import PAUSED
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import NEVER_UPGRADED, PauseProgress, Upgrade, UpgradePhase
from health.gate.check_holds import UnreadSource
from health.policy.policy import Policy
from health.policy.policy_in_force import SHADOW, PolicyInForce
from health.upgrade.memory import UpgradeObservation
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW
from workflows.upgrade_contracts import ObserveUpgradeInput

MARK = "machine.openshift.io/paused-for-upgrade"
OURS = {PAUSED: "", MARK: ""}
HOUR = timedelta(hours=1)
UNDER_WAY = Upgrade(phase=UpgradePhase.UNDER_WAY, since=NOW, sign="ClusterVersion/version: Progressing=True")
OVER = Upgrade(phase=UpgradePhase.OVER, since=NOW)
HANDLED = PauseProgress(transitions=(NOW,), handled_until=NOW)
START, START_OR_WAKE, WAKE = "start", "start or wake", "wake"


class Temporal:
    """Records the calls of a client of Temporal."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.status: WorkflowExecutionStatus | None = None
        """The status of the latest workflow; None: there is none."""
        self.closed: datetime | None = None
        self.looks = self.signals = self.failures = 0

    def __call__(self) -> Client:
        return cast("Client", self)

    async def start_workflow(self, *_: Any, **given: Any) -> None:
        if self.failures:
            self.failures -= 1
            raise RPCError("not now", RPCStatusCode.UNAVAILABLE, b"")
        self.calls.append(START_OR_WAKE if given["start_signal"] else START)
        self.status = WorkflowExecutionStatus.RUNNING

    def get_workflow_handle(self, workflow_id: str) -> Any:
        assert workflow_id == "upgrade/main-0a1b"
        return SimpleNamespace(signal=self._signal, describe=self._describe)

    def end(self, status: WorkflowExecutionStatus, closed: datetime = NOW + HOUR) -> None:
        self.status, self.closed = status, closed

    async def _signal(self, name: str, **_: Any) -> None:
        self.signals += 1
        if self.status is not WorkflowExecutionStatus.RUNNING:
            raise RPCError("it has ended", RPCStatusCode.NOT_FOUND, b"")
        self.calls.append(name)

    async def _describe(self, **_: Any) -> Any:
        self.looks += 1
        if self.status is None:
            raise RPCError("there is none", RPCStatusCode.NOT_FOUND, b"")
        return SimpleNamespace(status=self.status, close_time=self.closed)


class World:
    """The upgrade pauses of a detector, and their surroundings."""

    def __init__(self) -> None:
        self.temporal = Temporal()
        self.machines = SmallMachines()
        self.machines.check()
        self.serves_signals = True
        self.unread_signals: UnreadSource | None = None
        self.is_leader = True
        self.now = NOW
        self.refreshed = 0
        self.problems = Problems()
        self._make(is_on=True)

    def turn_off(self) -> None:
        self._make(is_on=False)

    def becomes(self, upgrade: Upgrade, policy: PolicyInForce | None = None) -> None:
        context = ClusterContext(upgrade=upgrade)
        self.machines.cluster_state.take_context(replace(context, policy=policy) if policy else context)
        self.upgrades.changed.set()

    def see(self, name: str = "workers", **annotations: str) -> None:
        self.machines.check(name, annotations=annotations)

    async def ask(self, progress: PauseProgress = HANDLED, paused: int = 0) -> UpgradeObservation:
        asked = ObserveUpgradeInput(cluster="main-0a1b", progress=progress, paused=paused)
        return await self.upgrades.observe_upgrade(asked)

    @asynccontextmanager
    async def leading(self) -> AsyncIterator[None]:
        leading = asyncio.create_task(self.upgrades.lead())
        yield
        assert not leading.done()
        leading.cancel()
        with suppress(asyncio.CancelledError):
            await leading

    async def until_called(self, *calls: str) -> None:
        await eventually(lambda: self.temporal.calls == [*calls])

    async def looks_again(self) -> None:
        """Return after two more looks at everything."""
        for _ in range(2):
            self.upgrades.changed.set()
            await eventually(lambda: not self.upgrades.changed.is_set())

    def _refresh(self) -> None:
        self.refreshed += 1

    def _make(self, *, is_on: bool) -> None:
        self.upgrades = UpgradePauses(
            cluster="main-0a1b",
            temporal=self.temporal,
            cluster_state=self.machines.cluster_state,
            serves_signals=lambda: self.serves_signals,
            unread_signals=lambda: self.unread_signals,
            refresh=self._refresh,
            is_on=is_on,
            is_leader=lambda: self.is_leader,
            now=lambda: self.now,
            problems=self.problems,
            long_upgrade=HOUR,
        )


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(upgrade_pauses, "BETWEEN_CALLS_SECONDS", 0.0)
    monkeypatch.setattr(upgrade_pauses, "LOOK_AGAIN_SECONDS", 0.01)
    return World()


@pytest.mark.rule("rule 36")
async def test_without_a_signal_of_upgrades_nothing_is_started_with_any_mark(world: World) -> None:
    world.serves_signals = False
    world.see(**OURS)
    async with world.leading():
        await world.looks_again()

        assert (world.temporal.calls, world.temporal.signals) == ([], 1)


@pytest.mark.parametrize("upgrade", [UNDER_WAY, OVER])
async def test_where_a_setting_turns_it_off_nothing_is_started_and_the_upgrade_holds_every_check(
    world: World, upgrade: Upgrade
) -> None:
    world.turn_off()
    world.becomes(upgrade)
    world.see(**OURS)
    async with world.leading():
        await eventually(lambda: world.temporal.signals)

        assert world.temporal.calls == []
        assert world.upgrades.progress() is None


@pytest.mark.parametrize(
    "upgrade", [UNDER_WAY, Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="nobody knows")]
)
async def test_one_that_is_open_when_a_setting_turns_it_off_is_woken_to_give_back(
    world: World, upgrade: Upgrade
) -> None:
    world.turn_off()
    world.becomes(upgrade)
    world.unread_signals = UnreadSource("signals", "forbidden")
    world.temporal.status = WorkflowExecutionStatus.RUNNING
    async with world.leading():
        await world.until_called(WAKE)
        seen = await world.ask()

        assert (seen.is_turned_off, seen.is_over, seen.is_under_way) == (True, True, False)


async def test_kind_that_signals_upgrades_and_comes_later_is_enough_to_begin(world: World) -> None:
    world.serves_signals = False
    async with world.leading():
        await world.looks_again()
        world.serves_signals = True
        world.becomes(UNDER_WAY)

        await world.until_called(START_OR_WAKE)


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/created", "MHC C.2/end")
async def test_upgrade_starts_the_workflow_and_news_wake_it(world: World) -> None:
    world.becomes(OVER)
    world.temporal.end(WorkflowExecutionStatus.COMPLETED)
    async with world.leading():
        await world.looks_again()
        assert world.temporal.calls == []
        world.becomes(UNDER_WAY)
        await world.until_called(START_OR_WAKE)
        world.see(**OURS)
        await world.looks_again()
        assert len(world.temporal.calls) == 1
        world.see("later")
        await world.until_called(*[START_OR_WAKE] * 2)
        world.becomes(replace(UNDER_WAY, also_since=(NOW + HOUR,)))
        await world.until_called(*[START_OR_WAKE] * 3)
        world.becomes(replace(OVER, since=NOW + 2 * HOUR))
        await world.until_called(*[START_OR_WAKE] * 4)


@pytest.mark.rule("rule 6")
async def test_nothing_else_wakes_it(world: World) -> None:
    world.becomes(UNDER_WAY)
    async with world.leading():
        await world.until_called(START_OR_WAKE)
        await world.ask()
        world.see(team="infra")
        world.becomes(replace(UNDER_WAY, sign="another one of them"))
        world.see("theirs", **{PAUSED: ""})
        world.see("in-shadow", **{SHADOW: "true"})
        await world.looks_again()

        assert world.temporal.calls == [START_OR_WAKE]


@pytest.mark.rule("MHC C.2/restart")
@pytest.mark.parametrize("status", ["TERMINATED", "FAILED", "TIMED_OUT", "COMPLETED", None])
async def test_workflow_that_is_wanted_is_started_again_within_a_minute(
    world: World, status: str | None
) -> None:
    world.becomes(UNDER_WAY)
    async with world.leading():
        await world.until_called(START_OR_WAKE)
        world.temporal.status = WorkflowExecutionStatus[status] if status else None
        await world.looks_again()
        assert world.temporal.calls == [START_OR_WAKE]
        world.now += timedelta(minutes=1)

        await world.until_called(START_OR_WAKE, START)


@pytest.mark.rule("MHC C.2/restart", "MHC C.2/end over which nothing ran")
@pytest.mark.parametrize(
    ("status", "closed", "is_started"),
    [
        pytest.param("COMPLETED", NOW + HOUR, False, id="it ended after the upgrade"),
        pytest.param("COMPLETED", NOW - HOUR, True, id="it ended before: this upgrade had none"),
        pytest.param("TERMINATED", NOW + HOUR, True, id="a person terminated it before it was done"),
        pytest.param("RUNNING", None, True, id="it is open"),
        pytest.param(None, None, True, id="Temporal knows none"),
    ],
)
async def test_after_an_upgrade_the_workflow_is_started_until_one_has_ended_by_itself(
    world: World, status: str | None, closed: datetime | None, *, is_started: bool
) -> None:
    world.becomes(OVER)
    world.temporal.status = WorkflowExecutionStatus[status] if status else None
    world.temporal.closed = closed
    async with world.leading():
        await eventually(lambda: world.temporal.looks)
        await world.looks_again()
        assert (START_OR_WAKE in world.temporal.calls) is is_started
        world.temporal.end(WorkflowExecutionStatus.COMPLETED)
        calls = len(world.temporal.calls)
        for _ in range(3):
            world.now += timedelta(minutes=1)
            await world.looks_again()

        assert len(world.temporal.calls) == calls
        assert world.temporal.looks <= 2


@pytest.mark.parametrize("status", ["COMPLETED", None])
async def test_end_without_a_time_needs_a_workflow_that_has_ended(world: World, status: str | None) -> None:
    world.becomes(replace(OVER, since=None))
    world.temporal.status = WorkflowExecutionStatus[status] if status else None
    world.temporal.closed = NOW
    async with world.leading():
        await eventually(lambda: world.temporal.looks)
        await world.looks_again()

        assert world.temporal.calls == ([] if status else [START_OR_WAKE])


@pytest.mark.rule("MHC C.2/left mark", "rule 47")
@pytest.mark.parametrize("upgrade", [OVER, NEVER_UPGRADED])
async def test_mark_that_appears_after_the_upgrade_starts_the_workflow(
    world: World, upgrade: Upgrade
) -> None:
    """A backup was restored, or a frozen worker wrote late."""
    world.becomes(upgrade)
    world.temporal.end(WorkflowExecutionStatus.COMPLETED)
    async with world.leading():
        await world.looks_again()
        assert world.temporal.calls == []
        world.see(**{MARK: ""})

        await world.until_called(START_OR_WAKE)


@pytest.mark.rule("rule 36/annotations")
async def test_unknown_state_starts_nothing_and_is_answered_with_its_reason(world: World) -> None:
    world.becomes(Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="there is no ClusterVersion"))
    world.see(**OURS)
    async with world.leading():
        await world.looks_again()
        assert world.temporal.calls == []
        seen = await world.ask()
        assert (seen.phase, seen.why_unknown) == (UpgradePhase.UNKNOWN, "there is no ClusterVersion")
        world.becomes(UNDER_WAY)
        world.unread_signals = UnreadSource("ClusterVersion (config.openshift.io/v1)", "forbidden")

        seen = await world.ask()
        assert (seen.phase, seen.why_unknown) == (UpgradePhase.UNKNOWN, str(world.unread_signals))


async def test_error_of_temporal_is_reported_and_the_call_is_made_again(world: World) -> None:
    world.becomes(UNDER_WAY)
    world.temporal.failures = 1
    async with world.leading():
        await eventually(lambda: world.problems.sentences)
        await world.until_called(START_OR_WAKE)
        await eventually(lambda: not world.problems.sentences)


@pytest.mark.rule("rule 46", "rule 34")
async def test_handled_checks_come_with_the_question_and_a_new_leader_knows_none(world: World) -> None:
    world.becomes(UNDER_WAY)
    async with world.leading():
        await world.until_called(START_OR_WAKE)
        assert world.upgrades.progress() == PauseProgress()
        refreshed = world.refreshed
        seen = await world.ask()
        assert world.upgrades.progress() == HANDLED
        assert world.refreshed == refreshed + 1
        assert (seen.long_upgrade, seen.seen_at, seen.is_in_shadow) == (HOUR, NOW, False)
    async with world.leading():
        await world.until_called(START_OR_WAKE, WAKE, START_OR_WAKE)

        assert world.upgrades.progress() == PauseProgress()


@pytest.mark.rule("rule 43")
async def test_policy_that_puts_every_check_in_shadow_is_answered(world: World) -> None:
    world.becomes(UNDER_WAY, PolicyInForce(policy=Policy(shadow=True)))

    assert (await world.ask()).is_in_shadow


async def test_detector_that_does_not_lead_answers_no_question_and_logs_no_warning(world: World) -> None:
    world.is_leader = False

    with pytest.raises(NotLeading) as refused:
        await world.ask()
    assert refused.value.category is ApplicationErrorCategory.BENIGN  # the SDK logs it at DEBUG
    assert world.upgrades.progress() == PauseProgress()


async def test_metrics_say_how_long_the_upgrade_lasts_and_how_many_checks_are_paused_for_it(
    world: World,
) -> None:
    registry = CollectorRegistry()
    registry.register(UpgradeMetrics(world.upgrades, lambda: NOW + timedelta(minutes=2)))
    world.becomes(UNDER_WAY)
    await world.ask(paused=3)
    assert shown(registry) == {"paramedic_upgrade_seconds": 120, "paramedic_upgrade_paused_checks": 3}

    world.becomes(OVER)
    await world.ask()
    assert shown(registry) == {"paramedic_upgrade_paused_checks": 0}
    world.is_leader = False
    assert shown(registry) == {}


def shown(registry: CollectorRegistry) -> dict[str, float]:
    return {sample.name: sample.value for family in registry.collect() for sample in family.samples}
