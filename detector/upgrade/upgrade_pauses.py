"""UpgradePauses: all that a detector does for the pauses of checks while the cluster is upgraded.

It watches the checks, answers `observe_upgrade`, keeps the one workflow running and awake, and knows which
checks it has come to: those are held by their annotation, the others by the upgrade (rule 46). What was
handled is told by the workflow with each question, and nothing of it outlives the lead: a detector that takes
the lead wakes the workflow, and is told anew.

Where nothing is served that signals upgrades, or a setting turns the pause off, it watches nothing and starts
nothing. It looks once, when it takes the lead, whether a workflow is open all the same, which is to give back
what it has paused; that one, and whoever asks, is answered.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError

from detector.answers.answering import NotLeading
from detector.dispatching.open_workflows import OpenWorkflows
from detector.dispatching.reconciler import Reconciler, ReconcilerDependencies
from detector.upgrade.check_changes import CheckChanges
from detector.upgrade.pausable_checks import IsInShadow, PausableChecks
from detector.upgrade.upgrade_workflow import UpgradeKey, UpgradeWorkflow
from health.gate.pause_progress import PauseProgress
from health.gate.policy import CurrentPolicy
from health.gate.upgrade import Upgrade
from health.kinds.registry import CHECK_KINDS
from health.upgrade.observation import MOST_TRANSITIONS, UpgradeObservation
from kube.connection import ClusterConnection
from kube.reflector_settings import CurrentSettings
from runtime.retrying import retry_forever
from workflows.upgrade_contracts import OBSERVE_UPGRADE, ObserveUpgradeInput

LOOK_AGAIN_SECONDS = 1.0
"""That something is too old is told to nobody."""
BETWEEN_WAKES_SECONDS = 0.5
"""Changes come in groups: what was written on 500 checks is a few wakes."""
LISTED = "open upgrade pause"


@dataclass(frozen=True)
class UpgradeSources:
    """What is seen beside the checks."""

    upgrade: Callable[[], Upgrade]
    """Where the cluster stands, as the gate takes it."""
    serves_signals: Callable[[], bool]
    """Whether anything is served that can signal an upgrade."""
    unread_signals: Callable[[], str]
    """Why it is not known well enough what signals upgrades."""
    refresh: Callable[[], None]
    """Take over into the cluster context what is known by now, `progress` with it."""
    is_in_shadow: IsInShadow = lambda _: False


class UpgradePauses:
    """Those of one cluster."""

    def __init__(  # noqa: PLR0913  each is a choice of whoever wires it
        self,
        cluster: str,
        connection: ClusterConnection,
        temporal: Callable[[], Client],
        sources: UpgradeSources,
        dependencies: ReconcilerDependencies,
        *,
        is_on: bool,
        long_upgrade: timedelta,
        policy: CurrentPolicy,
        reflectors: CurrentSettings,
    ) -> None:
        self._sources = sources
        self._dependencies = dependencies
        self._is_on = is_on
        self._long_upgrade = long_upgrade
        self._policy = policy
        self._was_concerned = False
        self._changes = CheckChanges()
        self._changed = asyncio.Event()
        self._key = UpgradeKey(cluster)
        self._checks = PausableChecks(
            connection, CHECK_KINDS.values(), self.changed, reflectors, sources.is_in_shadow
        )
        self._workflow = UpgradeWorkflow(self._key, temporal, self.observe)
        self._open: OpenWorkflows[UpgradeKey, UpgradeObservation] = OpenWorkflows(lambda key: key)
        self._reconciler = Reconciler(
            self._workflow, self._open, dependencies, part="upgrade pause", listed=LISTED
        )

    @property
    def is_concerned(self) -> bool:
        """Whether there is anything to do here; who waits for it sees to it that it stays so."""
        return self._was_concerned or (self._is_on and self._sources.serves_signals())

    @property
    def speaks(self) -> bool:
        """Whether it tells Prometheus of upgrades now: only the leader speaks of the cluster."""
        return self.is_concerned and self._dependencies.is_leader()

    def progress(self) -> PauseProgress | None:
        """How far it has come, as far as we were told; None: nobody pauses any check."""
        return self._changes.progress if self._is_on and self.is_concerned else None

    def changed(self) -> None:
        """What is seen of checks, or of the upgrade, may be something else now."""
        self._changed.set()

    def observe(self) -> UpgradeObservation:
        """What is seen: one answer from one moment."""
        upgrade = self._sources.upgrade()
        seen = UpgradeObservation(
            phase=upgrade.phase,
            since=upgrade.since,
            also_since=upgrade.also_since[:MOST_TRANSITIONS],
            sign=upgrade.sign,
            why_unknown=upgrade.why_unknown,
            unread=self._unread(),
            is_turned_off=not self._is_on,
            long_upgrade_seconds=self._long_upgrade.total_seconds(),
            seen_at=self._dependencies.now(),
        )
        # A message has at most 10,000 items, and a cluster may have more checks: an answer has a page.
        return seen.model_copy(update={"checks": self._checks.all()})

    def _unread(self) -> str:
        """Whether there is an upgrade does not matter where the pause is turned off."""
        signals = self._sources.unread_signals() if self._is_on else ""
        return signals or self._checks.unread(self._policy().staleness_limit)

    @activity.defn(name=OBSERVE_UPGRADE.name)
    async def observe_upgrade(self, asked: ObserveUpgradeInput) -> UpgradeObservation:
        """Where the upgrade stands, and the checks that changed; the question tells what has been handled."""
        if not self._dependencies.is_leader():
            raise NotLeading("this detector does not hold the lead any more")
        self._was_concerned = True
        seen = self.observe()
        answer = self._changes.answer(asked, seen)
        self._sources.refresh()
        self._open.put(self._key, seen, self._dependencies.now())
        return answer

    async def run(self) -> None:
        """Watch the checks until cancelled, leading or not."""
        await self._until_concerned()
        await self._checks.run()

    async def lead(self) -> None:
        """Start and wake the workflow until cancelled."""
        self._changes.begin_anew()
        self._sources.refresh()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._find_open())
            await self._until_concerned()
            await self._checks.wait_tried()
            tasks.create_task(self._reconciler.lead())
            tasks.create_task(self._look_for_ever())

    async def _find_open(self) -> None:
        """Look once for one that is open: it may have been begun before a setting, or a CRD, was another."""
        if self.is_concerned:
            return
        running = self._workflow.running
        found = await retry_forever(LISTED, running, (RPCError,), self._dependencies.problems)
        self._was_concerned = self._was_concerned or bool(found)

    async def _until_concerned(self) -> None:
        while not self.is_concerned:  # noqa: ASYNC110  what comes to be served is told to nobody
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        self._was_concerned = True

    async def _look_for_ever(self) -> None:
        while True:
            self._changed.clear()
            if self._open.get(self._key) is not None or self._workflow.is_wanted(self._key):
                self._reconciler.consider(self._key)
            await asyncio.sleep(BETWEEN_WAKES_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                    await self._changed.wait()
