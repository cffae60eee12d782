"""A cluster under upgrade for an upgrade pause: a scripted detector, and a worker with scripted checks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Interceptor

from health.cluster.upgrade import UpgradePhase
from health.upgrade.memory import LONG_UPGRADE, SyncedChecks, UpgradeObservation
from tests.support.story import workers
from tests.support.story.fake_cluster import Gate
from tests.support.story.polling import PATIENCE_SECONDS, polled
from tests.support.story.runs import histories_of
from tests.support.values.looks import CREATED, FakeChecks, check
from workflows.contracts import worker_queue
from workflows.upgrade_contracts import (
    OBSERVE_UPGRADE,
    SYNC_PAUSES,
    ObserveUpgradeInput,
    SyncPausesInput,
    UpgradePauseInput,
    UpgradePauseResult,
    UpgradePauseState,
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


@dataclass
class Loss:
    """The number of the next syncs that are lost."""

    before: int = 0
    """How many are lost before they write anything."""
    answers: int = 0
    """How many write, and lose their answers."""


class Upgrading:
    """The cluster, the log of all calls, and the upgrade pause."""

    def __init__(self, environment: WorkflowEnvironment, cluster: str = "") -> None:
        self.environment, self.client = environment, environment.client
        self.cluster = cluster or f"test-{uuid4().hex[:8]}"
        self.phase = UpgradePhase.UNDER_WAY
        self.since = datetime.now(UTC).replace(microsecond=0)
        self.also_since: tuple[datetime, ...] = ()
        self.is_turned_off, self.long_upgrade = False, LONG_UPGRADE
        self.api = FakeChecks()
        self.clock = CREATED
        """The API server's, a second later at each creation and list."""
        self.questions: list[ObserveUpgradeInput] = []
        self.syncs: list[SyncPausesInput] = []
        self.refused: tuple[str, ...] = ()
        """The checks to which writes are refused."""
        self.loss = Loss()
        self.gate = Gate()
        for name in ("a", "b"):
            self.create(name)

    @property
    def workflow_id(self) -> str:
        return upgrade_pause_id(self.cluster)

    @property
    def handle(self) -> Handle:
        return self.client.get_workflow_handle_for(UpgradePause.run, self.workflow_id)

    @property
    def warnings(self) -> list[str]:
        return [sync.warning for sync in self.syncs if sync.warning]

    def create(self, name: str, annotations: str = "") -> None:
        self.clock += timedelta(seconds=1)
        self.api.add(check(annotations, name=name, uid=f"uid-{name}-{self.clock:%S%f}", created=self.clock))

    def edit(self, name: str, annotations: str) -> None:
        self.api.edit(name, annotations)

    def end(self) -> None:
        self.phase, self.since = UpgradePhase.OVER, self.since + timedelta(hours=1)

    def done(self, name: str) -> list[str]:
        return self.api.done(name)

    def annotations(self) -> dict[str, str]:
        return self.api.annotations()

    @activity.defn(name=OBSERVE_UPGRADE.name)
    async def observe(self, question: ObserveUpgradeInput) -> UpgradeObservation:
        self.questions.append(question)
        return UpgradeObservation(
            phase=self.phase,
            since=self.since,
            also_since=self.also_since,
            sign="the version",
            is_turned_off=self.is_turned_off,
            long_upgrade_seconds=self.long_upgrade.total_seconds(),
            seen_at=datetime.now(UTC),
        )

    @activity.defn(name=SYNC_PAUSES.name)
    async def sync(self, asked: SyncPausesInput) -> SyncedChecks:
        await self.gate.pass_through()
        self.syncs.append(asked)
        if self.loss.before:
            self.loss.before -= 1
            raise RuntimeError("the worker is lost")
        self.clock += timedelta(seconds=1)
        synced = self.api.sync(asked.moment, self.clock, self.refused)
        if self.loss.answers:
            self.loss.answers -= 1
            raise RuntimeError("the answer is lost")
        return synced

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
            [self.sync],
            workflows=[UpgradePause],
            interceptors=interceptors,
            max_cached_workflows=max_cached_workflows,
        ):
            yield

    async def start(self) -> Handle:
        return await self.client.start_workflow(
            UpgradePause.run,
            UpgradePauseInput(cluster=self.cluster),
            id=self.workflow_id,
            task_queue=worker_queue(self.cluster),
        )

    async def wake(self) -> None:
        """Wake it, and wait until it has synced."""
        syncs = len(self.syncs)
        await self.handle.signal(UpgradePause.wake)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.syncs) == syncs:  # noqa: ASYNC110  a list signals nothing
                await asyncio.sleep(POLL_SECONDS)
        await self.rests()

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
        """Wait until it only waits, and return its state."""

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


def states(memory_of: UpgradePauseState | UpgradePauseResult) -> dict[str, str]:
    """The state of each listed check, by its name."""
    synced = memory_of.memory.synced
    return {row.check.rpartition("/")[2]: row.state for row in synced.rows} if synced else {}
