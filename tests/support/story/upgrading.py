"""A cluster under upgrade for an upgrade pause: a scripted detector and worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Interceptor

from detector.upgrade.pause_state import CheckChanges
from health.cluster.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.observation import LONG_UPGRADE, UpgradeObservation
from health.upgrade.pausable_check import PausableCheck, PauseAction, PausePatch
from tests.support.story import workers
from tests.support.story.fake_cluster import Gate
from tests.support.story.polling import PATIENCE_SECONDS, polled
from tests.support.story.runs import histories_of
from workflows.contracts import worker_queue
from workflows.upgrade_contracts import (
    OBSERVE_UPGRADE,
    WARN_OF_LONG_UPGRADE,
    WRITE_PAUSES,
    ObserveUpgradeInput,
    UpgradePauseInput,
    UpgradePauseResult,
    UpgradePauseState,
    WarnOfLongUpgradeInput,
    WarnOfLongUpgradeResult,
    WritePausesInput,
    WritePausesResult,
    upgrade_pause_id,
)
from workflows.upgrade_pause import UpgradePause

POLL_SECONDS = 0.005
Handle = WorkflowHandle[UpgradePause, UpgradePauseResult]


@asynccontextmanager
async def upgrading_cluster(environment: WorkflowEnvironment) -> AsyncIterator["Upgrading"]:
    """An upgrade with the detector and worker of its cluster; its pause is terminated at the end."""
    upgrading = Upgrading(environment)
    async with upgrading.detector(), upgrading.worker():
        yield upgrading
        described = await upgrading.handle.describe()
        if described.status is WorkflowExecutionStatus.RUNNING:
            await upgrading.handle.terminate()


class Upgrading:
    """The cluster, the log of all calls, and the upgrade pause."""

    def __init__(self, environment: WorkflowEnvironment, cluster: str = "") -> None:
        self.environment, self.client = environment, environment.client
        self.cluster = cluster or f"test-{uuid4().hex[:8]}"
        self.phase = UpgradePhase.UNDER_WAY
        self.since = datetime.now(UTC).replace(microsecond=0)
        self.also_since: tuple[datetime, ...] = ()
        self.is_turned_off, self.long_upgrade = False, LONG_UPGRADE
        self.unread = ""
        self.checks: dict[str, PausableCheck] = {}
        self.revision = 0
        self.changes = CheckChanges()
        self.questions: list[ObserveUpgradeInput] = []
        self.patches: list[PausePatch] = []
        """Those that came, whatever became of them."""
        self.warnings: list[WarnOfLongUpgradeInput] = []
        self.refusing = 0
        """How many of the next patches fail."""
        self.losing = 0
        """How many of the next attempts write, and lose their answers."""
        self.freezing = 0
        """How many of the next attempts are lost before they write, and write once they `thaw`."""
        self.frozen: list[WritePausesInput] = []
        self.written: list[WritePausesInput] = []
        self.gate = Gate()
        for name in ("a", "b"):
            self.create(name)

    @property
    def workflow_id(self) -> str:
        return upgrade_pause_id(self.cluster)

    @property
    def handle(self) -> Handle:
        return self.client.get_workflow_handle_for(UpgradePause.run, self.workflow_id)

    def create(self, name: str, *, is_paused: bool = False, is_marked: bool = False) -> None:
        self.revision += 1
        self.checks[name] = PausableCheck(
            reference=CheckReference(kind="MachineHealthCheck", namespace="machines", name=name),
            uid=f"uid-{name}-{self.revision}",
            resource_version=str(self.revision),
            is_paused=is_paused,
            is_marked=is_marked,
        )

    def edit(self, name: str, *, is_paused: bool, is_marked: bool) -> None:
        self.revision += 1
        changes = {"is_paused": is_paused, "is_marked": is_marked, "resource_version": str(self.revision)}
        self.checks[name] = self.checks[name].model_copy(update=changes)

    def end(self) -> None:
        self.phase, self.since = UpgradePhase.OVER, self.since + timedelta(hours=1)

    def begin_again(self) -> None:
        self.phase, self.since = UpgradePhase.UNDER_WAY, self.since + timedelta(hours=1)

    def done(self, name: str) -> list[str]:
        return [str(patch.action) for patch in self.patches if patch.reference.name == name]

    def annotations(self) -> dict[str, str]:
        return {
            name: "P" * check.is_paused + "M" * check.is_marked for name, check in sorted(self.checks.items())
        }

    @activity.defn(name=OBSERVE_UPGRADE.name)
    async def observe(self, question: ObserveUpgradeInput) -> UpgradeObservation:
        self.questions.append(question)
        observation = UpgradeObservation(
            phase=self.phase,
            since=self.since,
            also_since=self.also_since,
            sign="the version",
            checks=() if self.unread else tuple(self.checks.values()),
            unread=self.unread,
            is_turned_off=self.is_turned_off,
            long_upgrade_seconds=self.long_upgrade.total_seconds(),
            seen_at=datetime.now(UTC),
        )
        return self.changes.answer(question, observation)

    @activity.defn(name=WRITE_PAUSES.name)
    async def write(self, writes: WritePausesInput) -> WritePausesResult:
        await self.gate.pass_through()
        self.written.append(writes)
        if self.freezing:
            self.freezing -= 1
            self.frozen.append(writes)
            raise RuntimeError("the worker is frozen")
        answers = tuple(self._written(patch) for patch in writes.patches)
        if self.losing:
            self.losing -= 1
            raise RuntimeError("the worker is lost")
        return WritePausesResult(answers=answers)

    def thaw(self) -> None:
        """Thaw the frozen workers, which then write; a check that has changed refuses the write."""
        for asked in self.frozen:
            for patch in asked.patches:
                self._written(patch)
        self.frozen.clear()

    @activity.defn(name=WARN_OF_LONG_UPGRADE.name)
    async def warn(self, warning: WarnOfLongUpgradeInput) -> WarnOfLongUpgradeResult:
        self.warnings.append(warning)
        return WarnOfLongUpgradeResult()

    def _written(self, patch: PausePatch) -> PauseAnswer:
        self.patches.append(patch)
        if self.refusing:
            self.refusing -= 1
            return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.FAILED, why="the server is away")
        check = self.checks[patch.reference.name]
        if (check.uid, check.resource_version) != (patch.uid, patch.resource_version):
            return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.CONFLICT)
        after = check.after(PauseAction(patch.action))
        self.edit(patch.reference.name, is_paused=after.is_paused, is_marked=after.is_marked)
        return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.WRITTEN)

    @asynccontextmanager
    async def detector(self) -> AsyncIterator[None]:
        async with workers.detector(self.client, self.cluster, [self.observe]):
            yield

    @asynccontextmanager
    async def worker(
        self, *interceptors: Interceptor, max_cached_workflows: int = 1000
    ) -> AsyncIterator[None]:
        async with workers.worker(
            self.client,
            self.cluster,
            [self.write, self.warn],
            workflows=[UpgradePause],
            interceptors=interceptors,
            max_cached_workflows=max_cached_workflows,
        ):
            yield

    async def start(self, memory: str = "", cancelled_at: datetime | None = None) -> Handle:
        start = UpgradePauseInput(cluster=self.cluster, memory=memory, cancelled_at=cancelled_at)
        return await self.client.start_workflow(
            UpgradePause.run,
            start,
            id=self.workflow_id,
            task_queue=worker_queue(self.cluster),
        )

    async def wake(self) -> None:
        """Wake it, and wait until it has observed."""
        looks = len(self.questions)
        await self.handle.signal(UpgradePause.wake)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.questions) == looks:  # noqa: ASYNC110  a list signals nothing
                await asyncio.sleep(POLL_SECONDS)

    async def asks(self) -> None:
        """Wait until a question waits for a detector."""

        async def is_asked() -> bool:
            return bool((await self.handle.describe()).raw_description.pending_activities)

        await polled(is_asked)

    async def passes(self, duration: timedelta) -> None:
        await self.environment.fast_forward(self.handle, duration)

    async def becomes(self, **annotations: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.annotations() != annotations:  # noqa: ASYNC110  as above
                await asyncio.sleep(POLL_SECONDS)

    async def rests(self) -> UpgradePauseState:
        """Wait until it has reported everything to the detector, and return its state."""

        async def at_rest() -> UpgradePauseState | None:
            state = await self._state()
            return state if state is not None and state.is_resting else None

        return await polled(at_rest)

    async def _state(self) -> UpgradePauseState | None:
        """Its state; None while a new run begins, whose first task Temporal delays for a second."""
        try:
            return await self.handle.query(UpgradePause.state)
        except RPCError as error:
            if error.status is RPCStatusCode.FAILED_PRECONDITION:
                return None
            raise

    async def histories(self) -> list[WorkflowHistory]:
        """The histories of all runs, the first one first."""
        latest = (await self.handle.describe()).run_id
        return await histories_of(self.client, self.handle.id, latest)

    async def result(self) -> UpgradePauseResult:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.handle.result()
