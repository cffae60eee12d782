"""UpgradePauses: the detector's part of pausing checks while the cluster is upgraded.

It watches the checks, answers `observe_upgrade`, keeps the one workflow running and awake, and knows the
handled checks: those are held by their annotation, the others by the upgrade (rule 46). The workflow reports
handled checks with each question. A new leader knows none, so it wakes the workflow and gets a full report.

If the API server serves no signal of upgrades, or a setting turns the pause off, it watches and starts
nothing. A new leader looks once for an open workflow, which still has to unpause its checks; that workflow,
and any question, is answered.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError

from detector.answers.answering import NotLeading
from detector.dispatching.open_workflows import OpenWorkflows
from detector.dispatching.reconciler import Reconciler, ReconcilerDependencies
from detector.upgrade.pausable_checks import PausableChecks
from detector.upgrade.pause_state import PauseState
from detector.upgrade.upgrade_workflow import UpgradeKey, UpgradeWorkflow
from health.cluster.upgrade import Upgrade
from health.policy.policy import CurrentPolicy
from health.upgrade.observation import MOST_TRANSITIONS, UpgradeObservation
from runtime.problems import retry_forever
from workflows.upgrade_contracts import OBSERVE_UPGRADE, ObserveUpgradeInput

LOOK_AGAIN_SECONDS = 1.0
"""No event announces that a cache has become too old."""
BETWEEN_WAKES_SECONDS = 0.5
"""Changes come in groups: writes on 500 checks cause a few wakes."""
LISTED = "open upgrade pause"


@dataclass(frozen=True)
class UpgradeSources:
    """The sources of the upgrade and its signals, besides the checks."""

    upgrade: Callable[[], Upgrade]
    """Returns the phase of the upgrade, as the gate uses it."""
    unread_signals: Callable[[], str]
    """Returns why the objects that signal upgrades are not fresh enough."""
    refresh: Callable[[], None]
    """Updates the cluster context, including the progress of pauses."""
    policy: CurrentPolicy


class UpgradePauses:
    """The pauses of checks in one cluster."""

    def __init__(  # noqa: PLR0913  each is an independent choice of the wiring
        self,
        key: UpgradeKey,
        temporal: Callable[[], Client],
        pause_state: PauseState,
        sources: UpgradeSources,
        *,
        checks: PausableChecks,
        dependencies: ReconcilerDependencies,
        long_upgrade: timedelta,
    ) -> None:
        self._key = key
        self._state = pause_state
        self._sources = sources
        self._checks = checks
        self._dependencies = dependencies
        self._long_upgrade = long_upgrade
        self._workflow = UpgradeWorkflow(key, temporal, self.observe)
        self._open: OpenWorkflows[UpgradeKey, UpgradeObservation] = OpenWorkflows(lambda key: key)
        self._reconciler = Reconciler(
            self._workflow, self._open, dependencies, part="upgrade pause", listed=LISTED
        )

    @property
    def speaks(self) -> bool:
        """True to export metrics: only the leader exports metrics of the cluster."""
        return self._state.is_concerned and self._dependencies.is_leader()

    def observe(self) -> UpgradeObservation:
        """Observe the upgrade and all checks at one moment."""
        upgrade = self._sources.upgrade()
        observation = UpgradeObservation(
            phase=upgrade.phase,
            since=upgrade.since,
            also_since=upgrade.also_since[:MOST_TRANSITIONS],
            sign=upgrade.sign,
            why_unknown=upgrade.why_unknown,
            unread=self._unread(),
            is_turned_off=not self._state.is_on,
            long_upgrade_seconds=self._long_upgrade.total_seconds(),
            seen_at=self._dependencies.now(),
        )
        # A message has at most 10,000 items, and a cluster may have more checks: an answer has a page.
        return observation.model_copy(update={"checks": self._checks.all()})

    def _unread(self) -> str:
        """Why checks or signals are not fresh enough; signals do not matter if the pause is turned off."""
        signals = self._sources.unread_signals() if self._state.is_on else ""
        return signals or self._checks.unread(self._sources.policy().staleness_limit)

    @activity.defn(name=OBSERVE_UPGRADE.name)
    async def observe_upgrade(self, question: ObserveUpgradeInput) -> UpgradeObservation:
        """Return the upgrade and the changed checks; the question reports the handled ones."""
        if not self._dependencies.is_leader():
            raise NotLeading
        self._state.note_concerned()
        observation = self.observe()
        answer = self._state.changes.answer(question, observation)
        self._sources.refresh()
        self._open.put(self._key, observation, self._dependencies.now())
        return answer

    async def run(self) -> None:
        """Watch the checks until cancelled, as leader and as standby."""
        await self._until_concerned()
        await self._checks.run()

    async def lead(self) -> None:
        """Start and wake the workflow until cancelled."""
        self._state.changes.begin_anew()
        self._sources.refresh()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._find_open())
            await self._until_concerned()
            await self._checks.wait_tried()
            tasks.create_task(self._reconciler.lead())
            tasks.create_task(self._look_for_ever())

    async def _find_open(self) -> None:
        """Look once for an open workflow, which may be older than the setting or the CRD."""
        if self._state.is_concerned:
            return
        running = self._workflow.running
        found = await retry_forever(LISTED, running, (RPCError,), self._dependencies.problems)
        if found:
            self._state.note_concerned()

    async def _until_concerned(self) -> None:
        while not self._state.is_concerned:  # noqa: ASYNC110  no event announces a newly served kind
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        self._state.note_concerned()

    async def _look_for_ever(self) -> None:
        while True:
            self._state.changed.clear()
            if self._open.get(self._key) is not None or self._workflow.is_wanted(self._key):
                self._reconciler.consider(self._key)
            await asyncio.sleep(BETWEEN_WAKES_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                    await self._state.changed.wait()


class UpgradeMetrics(Collector):
    """The gauges of upgrades, for one detector."""

    def __init__(self, upgrades: UpgradePauses, now: Callable[[], datetime]) -> None:
        self._upgrades = upgrades
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return both gauges by the current observation."""
        if not self._upgrades.speaks:
            return
        observation = self._upgrades.observe()
        text = "Duration of the current upgrade of the cluster; no series without one."
        lasts = GaugeMetricFamily("paramedic_upgrade_seconds", text, labels=())
        if observation.is_under_way and observation.since is not None:
            lasts.add_metric((), max(0.0, (self._now() - observation.since).total_seconds()))
        yield lasts
        text = "Checks that the upgrade pause has paused and that are still paused."
        paused = sum(check.is_paused and check.is_marked for check in observation.checks)
        yield GaugeMetricFamily("paramedic_upgrade_paused_checks", text, value=paused)
