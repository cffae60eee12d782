"""UpgradePauses: the detector's part of pausing checks while the cluster is upgraded.

It keeps the one workflow running and awake, answers its question whether an upgrade is under way, and knows
from the question which checks are handled: those are held by their annotation, the others by the upgrade
(rule 46). A new leader knows none, so it wakes the workflow, which reports them.

The workflow should run during an upgrade, and afterwards until one has ended by itself, or as long as a known
check has the mark. It is woken when the upgrade changes, and when a known check appears that it should write.
If the API server serves no signal of upgrades, or a setting turns the pause off, nothing is started; an open
workflow is woken once, and then unpauses its checks.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from detector.answers.answering import NotLeading
from detector.state.state_view import StateView
from health.cluster.upgrade import PauseProgress, UpgradePhase
from health.gate.check_holds import UnreadSource
from health.policy.policy_in_force import is_in_shadow
from health.upgrade.memory import MOST_TRANSITIONS, UpgradeObservation
from runtime import search_attributes
from runtime.problems import Problems, one_sentence, retry_forever
from workflows.contracts import worker_queue
from workflows.upgrade_contracts import (
    OBSERVE_UPGRADE,
    UPGRADE_PAUSE,
    WAKE_UPGRADE_PAUSE,
    ObserveUpgradeInput,
    UpgradePauseInput,
    upgrade_pause_id,
)

LOOK_AGAIN_SECONDS = 1.0
"""No event announces that a cache has become too old, or a new check."""
BETWEEN_CALLS_SECONDS = 0.5
"""Changes come in groups; a call that failed is repeated no sooner."""
MAKE_SURE = timedelta(minutes=1)
"""How often a wanted workflow is started, which does nothing while it is open."""
RPC_TIMEOUT = timedelta(seconds=5)
PART = "upgrade pause"


@dataclass(frozen=True)
class News:
    """The facts about which the workflow is woken: the upgrade, and the checks that wait for a write."""

    phase: str
    since: datetime | None
    transitions: tuple[datetime, ...]
    waiting: frozenset[str]
    """The uids of the known checks that it should write now."""

    def is_news_after(self, told: "News | None") -> bool:
        if told is None or not self.waiting <= told.waiting:
            return True
        return (self.phase, self.since, self.transitions) != (told.phase, told.since, told.transitions)


@dataclass(kw_only=True)
class UpgradePauses:
    """The pauses of checks in one cluster."""

    cluster: str
    temporal: Callable[[], Client]
    cluster_state: StateView
    serves_signals: Callable[[], bool]
    """Returns whether the API server serves a kind that can signal an upgrade."""
    unread_signals: Callable[[], UnreadSource | None]
    """Returns why the objects that signal upgrades are not fresh enough."""
    refresh: Callable[[], None]
    """Updates the cluster context, including the progress of pauses."""
    is_on: bool
    is_leader: Callable[[], bool]
    now: Callable[[], datetime]
    problems: Problems
    long_upgrade: timedelta

    def __post_init__(self) -> None:
        self.changed = asyncio.Event()
        """Set it when the upgrade may have changed."""
        self._reported = PauseProgress()
        """The progress of the latest question, or none at the begin of a term."""
        self.paused = 0
        """The number of checks that are paused by us, as the workflow reported."""
        self._told: News | None = None
        """The latest news that the workflow was woken for."""
        self._made_sure: datetime | None = None
        self._ended: tuple[datetime | None, bool] | None = None
        """The end of the latest upgrade, and whether its workflow has ended by itself; None: unknown."""

    def progress(self) -> PauseProgress | None:
        """The progress that the workflow has reported; None if no check is paused here."""
        return self._reported if self.is_on else None

    @property
    def speaks(self) -> bool:
        """True to export metrics: only the leader exports metrics of the cluster."""
        return self.serves_signals() and self.is_leader()

    def observe(self) -> UpgradeObservation:
        """Observe the upgrade; signals do not matter if the pause is turned off."""
        context = self.cluster_state.cluster_context
        upgrade, unread = context.upgrade, self.unread_signals() if self.is_on else None
        return UpgradeObservation(
            phase=UpgradePhase.UNKNOWN if unread else upgrade.phase,
            since=upgrade.since,
            also_since=upgrade.also_since[:MOST_TRANSITIONS],
            sign=upgrade.sign or None,
            why_unknown=(upgrade.why_unknown or None) if unread is None else str(unread),
            is_turned_off=not self.is_on,
            is_in_shadow=context.policy.is_shadow,
            long_upgrade_seconds=self.long_upgrade.total_seconds(),
            seen_at=self.now(),
        )

    @activity.defn(name=OBSERVE_UPGRADE.name)
    async def observe_upgrade(self, question: ObserveUpgradeInput) -> UpgradeObservation:
        """Return the upgrade; the question reports the handled checks."""
        if not self.is_leader():
            raise NotLeading
        self._report(question.progress, question.paused)
        return self.observe()

    async def lead(self) -> None:
        """Start and wake the workflow until cancelled."""
        self._told = self._made_sure = self._ended = None
        self._report(PauseProgress())
        await retry_forever(PART, self._wake_open, (RPCError,), self.problems)
        while self.is_on:
            self.changed.clear()
            if self.serves_signals():
                why = None  # an error of Temporal is reported, and the next look tries again
                try:
                    await self._keep_running()
                except RPCError as error:
                    why = one_sentence(error)
                self.problems.report(PART, why)
            await asyncio.sleep(BETWEEN_CALLS_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                    await self.changed.wait()
        await asyncio.Event().wait()  # the caller cancels it

    async def _wake_open(self) -> None:
        """Wake an open workflow, which may be older than the setting, the CRD or this leader."""
        try:
            await self._handle.signal(WAKE_UPGRADE_PAUSE, rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise

    async def _keep_running(self) -> None:
        """Start the workflow if it is wanted, and wake it for news."""
        observed, now = self.observe(), self.now()
        news = News(observed.phase, observed.since, observed.transitions, self._waiting(observed))
        is_news = news.is_news_after(self._told)
        if not is_news and self._made_sure is not None and now - self._made_sure < MAKE_SURE:
            return
        is_wanted = observed.is_under_way or (observed.is_over and not await self._is_done(news))
        if is_wanted:
            await self._start(observed, is_news=is_news)
        self._told, self._made_sure = news, now

    async def _is_done(self, news: News) -> bool:
        """True if no known check is marked, and the latest workflow ended by itself after the upgrade."""
        if news.waiting or news.phase == UpgradePhase.NEVER:
            return not news.waiting
        if self._ended == (news.since, True):
            return True
        try:
            latest = await self._handle.describe(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        closed = latest.close_time if latest.status is WorkflowExecutionStatus.COMPLETED else None
        has_ended = closed is not None and (news.since is None or closed >= news.since)
        self._ended = news.since, has_ended
        return has_ended

    async def _start(self, observed: UpgradeObservation, *, is_news: bool) -> None:
        """Start it, or wake it if it is open, in one call without a race."""
        since = "" if observed.since is None else f" since {observed.since.isoformat()}"
        await self.temporal().start_workflow(
            UPGRADE_PAUSE,
            UpgradePauseInput(cluster=self.cluster),
            id=upgrade_pause_id(self.cluster),
            task_queue=worker_queue(self.cluster),
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            start_signal=WAKE_UPGRADE_PAUSE if is_news else None,
            search_attributes=search_attributes.of_cluster(self.cluster),
            static_summary=f"{observed.sign or observed.phase}{since}",
            rpc_timeout=RPC_TIMEOUT,
        )

    def _waiting(self, observed: UpgradeObservation) -> frozenset[str]:
        """The uids of the known checks that the workflow should write; its sync does not rely on them."""
        context, waiting = self.cluster_state.cluster_context, set()
        for entry in self.cluster_state.checks.values():
            metadata, annotations = entry.record.metadata, entry.kind.upgrade_pause
            if annotations is None or metadata.deletion_timestamp is not None:
                continue
            is_marked = annotations.mark in metadata.annotations
            is_new = not (
                is_marked
                or annotations.paused in metadata.annotations
                or is_in_shadow(metadata.annotations, context.policy)
                or self._reported.has_handled(metadata, observed.transitions)
            )
            if is_new if observed.is_under_way else is_marked:
                waiting.add(metadata.uid)
        return frozenset(waiting)

    def _report(self, progress: PauseProgress, paused: int = 0) -> None:
        self._reported = progress
        self.paused = paused
        self.refresh()

    @property
    def _handle(self) -> WorkflowHandle[object, object]:
        return self.temporal().get_workflow_handle(upgrade_pause_id(self.cluster))


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
        yield GaugeMetricFamily("paramedic_upgrade_paused_checks", text, value=self._upgrades.paused)
