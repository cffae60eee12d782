"""Detector: wires the process that watches one cluster.

It watches from the start, so that a standby is ready to take over; it dispatches, answers and reports only
while it holds the leader Lease.
"""

import asyncio
import time
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry
from temporalio.client import Client
from temporalio.worker import Worker

from detector.answers.answering import Answering, never_failing
from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.attempts.attempt_reading import AttemptReading
from detector.attempts.attempts import Attempts
from detector.attempts.deletions import Deletions, MarkedTargets
from detector.context.check_freshness import CheckFreshness
from detector.context.clock_watch import ClockWatch
from detector.context.cluster_identities import KNOWN_CLUSTERS
from detector.context.sources import Sources, WatchScope
from detector.dispatching.dispatch import Dispatch
from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.incident_workflows import Observe
from detector.dispatching.reconciler import ReconcilerDependencies
from detector.feeds.blind_times import BLIND_TIMES
from detector.feeds.kind_watch import Kind
from detector.feeds.lease_notes import LeaseNotes, NoteLease
from detector.feeds.workload_clusters import WorkloadAccess
from detector.handover import Handover, HandoverTimes
from detector.limits.ended_remediations import EndedRemediations
from detector.limits.remediation_limits import RemediationLimits
from detector.metrics.failing_workflows import FailingWorkflows
from detector.metrics.limit_metrics import LimitMetrics
from detector.metrics.live_metrics import ClockMetrics, LiveMetrics
from detector.metrics.request_metrics import FailureToRequest, RequestLedger
from detector.own_polls import OwnPolls
from detector.registry import WATCHED_KINDS
from detector.reporting.own_status import OwnStatus
from detector.reporting.reporters import Reporters
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.reporting.status_reporter import ReporterDependencies
from detector.reporting.unseen_checks import UnseenChecks
from detector.state.cluster_state import ClusterState
from detector.upgrade.upgrade_metrics import UpgradeMetrics
from detector.upgrade.upgrade_pauses import UpgradePauses, UpgradeSources
from detector.watched_kind import KindMetrics
from health.check.template_validity import Template, TemplateKind
from health.cluster.pause_progress import PauseProgress
from health.gate.check_holds import Unseen, stale_cache
from health.model.references import CheckReference
from health.policy.policy import DEFAULTS, CurrentPolicy, Policy
from health.policy.shadow import is_in_shadow
from kube.leader import LeaderElection
from kube.rate_limiter import RateLimiter
from kube.reflector_settings import PATIENT, ReflectorSettings
from runtime import task_failures
from runtime.connections import Connections, connected
from runtime.guard import Guard
from runtime.process_names import CLUSTER_ANNOTATION, DETECTOR, LEADER_LEASE
from runtime.settings import Settings
from runtime.status_loop import look_forever
from workflows.contracts import detector_queue

REPORT_EVERY_SECONDS = 1.0
COUNT_TIMEOUT = timedelta(seconds=5)
HANDOVER = HandoverTimes()
EVENTS_AT_ONCE, EVENTS_PER_SECOND = 100, 10.0
"""Rate of the Events of all checks together: in a storm, requests have priority."""


async def run(settings: Settings) -> None:
    async with connected(settings, DETECTOR) as connections:
        detector = Detector(settings, connections, lambda: DEFAULTS)
        async with AsyncExitStack() as webhooks:
            for webhook in (kind.webhook for kind in WATCHED_KINDS.values() if kind.webhook is not None):
                await webhooks.enter_async_context(webhook(settings, connections, detector.watched_templates))
            await detector.run()


class Detector:
    """All parts of the detector of one cluster, wired together."""

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        defaults: CurrentPolicy,
        handover: HandoverTimes = HANDOVER,
    ) -> None:
        """`defaults` is the policy without a ConfigMap."""
        self._settings = settings
        self._connections = connections
        self._now = connections.management.server_clock.now
        """The clock for deadlines and for the times of observations."""
        self._leads = asyncio.Event()
        self._stopped = asyncio.Event()
        self._lead_began = self._now()
        client, problems = connections.management.client, connections.problems
        guard = Guard(connections.metrics)
        self._cluster_state = ClusterState(
            connections.cluster,
            guard,
            self._template_kind,
            removes_confirmations=settings.confirmations == "remove",
        )
        lease = NoteLease(client, settings.namespace, LEADER_LEASE, problems)
        self._blind_times = LeaseNotes(BLIND_TIMES, lease)
        self._known_clusters = LeaseNotes(KNOWN_CLUSTERS, lease)
        self._sources = self._made_sources(defaults)
        self._upgrades = self._made_upgrades()
        self._clock = ClockWatch(connections.management.server_clock, self._cluster_state.tell_all)
        self._own_polls = OwnPolls(
            connections.temporal, detector_queue(connections.cluster), settings.identity
        )
        self._handover = self._made_handover(handover)
        self._election = self._made_election()
        self._storms = Storms(self._cluster_state, self._sees, self._now)
        self._attempts = Attempts(self._policy, self._cluster_state, self._now)
        of_checks = self._sources.of_checks
        self._limits = RemediationLimits(self._cluster_state, self._policy, of_checks.is_proven, self._now)
        self._observe = self._made_observe()
        told = (self._cluster_state, self._attempts, of_checks.is_read, self._now)
        self._deletions, self._marked_targets = Deletions(*told), MarkedTargets(*told)
        calls = IncidentCalls(connections.temporal, connections.cluster, guard)
        self._attempt_reading = AttemptReading(calls, self._attempts, self._cluster_state, problems)
        self._ended_remediations = EndedRemediations(calls, self._limits, problems)
        self._dispatch = self._made_dispatch(calls)
        self._failing_workflows = FailingWorkflows(self._count_failing)
        self._answering = Answering(self._observe, self._dispatch, self._cluster_state, self._is_leader)
        self._own_status = OwnStatus(connections, settings, self._is_leader, self._limits.stuck_slots)
        self._unseen_checks = UnseenChecks(self._cluster_state, self._unseen)
        self._reporters = self._made_reporters()
        of_kinds, latency = self._made_kind_metrics(), FailureToRequest(self._cluster_state)
        series = [one for of_kind in of_kinds for one in of_kind.requests]
        self._ledger = RequestLedger(series, latency, lambda: self._leads_since, self._now)
        self._add_handlers()
        self._register_metrics(connections.metrics, of_kinds, latency)

    def _is_leader(self) -> bool:
        return self._election.is_leader

    async def _count_failing(self) -> dict[str, int]:
        return await task_failures.counts(
            self._connections.temporal(), self._connections.cluster, COUNT_TIMEOUT
        )

    def _policy(self) -> Policy:
        return self._sources.policy()

    def _made_sources(self, defaults: CurrentPolicy) -> Sources:
        settings, connections = self._settings, self._connections
        others = connections.workload_clusters
        scope = WatchScope(
            settings.lease_namespace,
            settings.upgrade_signals,
            settings.check_kinds,
            self._reflectors,
            WorkloadAccess(
                others.connect,
                others.close,
                self._blind_times.of,
                connections.management.server_clock.skew,
            ),
            self._pause_progress,
            settings.namespace,
            settings.requires_policy,
            self._blind_times.of,
            self._known_clusters.of,
        )
        return Sources(connections.management, self._cluster_state, scope, connections.problems, defaults)

    def _pause_progress(self) -> PauseProgress | None:
        return self._upgrades.progress()

    def _made_upgrades(self) -> UpgradePauses:
        settings, connections, sources = self._settings, self._connections, self._sources
        sources_of_upgrades = UpgradeSources(
            lambda: self._cluster_state.cluster_context.upgrade,
            lambda: sources.serves_signals,
            sources.unread_signals,
            sources.refresh_context,
            lambda annotations: is_in_shadow(annotations, self._cluster_state.cluster_context.policy),
        )
        dependencies = ReconcilerDependencies(
            self._is_leader, self._now, self._cluster_state.guard, connections.problems
        )
        return UpgradePauses(
            connections.cluster,
            connections.management,
            connections.temporal,
            sources_of_upgrades,
            dependencies,
            is_on=settings.upgrade_pause == "on",
            long_upgrade=timedelta(seconds=settings.long_upgrade_seconds),
            policy=self._policy,
            reflectors=self._reflectors,
        )

    def _made_observe(self) -> Observe:
        observer = Observer(
            self._cluster_state,
            self._sources.of_checks.freshness,
            self._storms,
            self._attempts.before,
            self._clock.hold,
            self._limits,
            self._now,
        )
        return never_failing(observer.observe, self._cluster_state)

    def _template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        return self._sources.template_kind(api_version, kind)

    def _reflectors(self) -> ReflectorSettings:
        return PATIENT.proving_life_within(self._policy().staleness_limit)

    def _made_handover(self, times: HandoverTimes) -> Handover:
        return Handover(
            self._connections.management.client,
            self._settings.namespace,
            LEADER_LEASE,
            self._settings.identity,
            silence=self._connections.temporal.silence,
            unpolled=self._own_polls.silence,
            is_leader=self._is_leader,
            times=times,
        )

    def _made_election(self) -> LeaderElection:
        return LeaderElection(
            self._connections.management.client,
            self._settings.namespace,
            LEADER_LEASE,
            self._settings.identity,
            annotations={CLUSTER_ANNOTATION: self._connections.cluster},
            on_started=self._start_leading,
            on_stopped=self._stop_leading,
            gives_way=self._handover.gives_way,
        )

    def _made_dispatch(self, calls: IncidentCalls) -> Dispatch:
        return Dispatch(
            calls,
            self._cluster_state,
            self._observe,
            is_leader=self._is_leader,
            now=self._now,
            problems=self._connections.problems,
            answered=self._limits.answered,
        )

    def _made_reporters(self) -> Reporters:
        dependencies = ReporterDependencies(
            client=self._connections.management.client,
            cluster_state=self._cluster_state,
            sources=self._sources.of_checks,
            storms=self._storms,
            snapshot_builder=SnapshotBuilder(
                self._cluster_state, self._attempts.before, self._unseen_checks.of
            ),
            rate_limiter=RateLimiter(EVENTS_AT_ONCE, EVENTS_PER_SECOND, time.monotonic),
            instance=self._settings.identity,
            now=self._now,
            led_until=lambda: self._election.led_until,
        )
        return Reporters(
            dependencies,
            self._connections.management,
            self._sees_targets,
            self._own_status,
            self._settings.namespace,
        )

    def _unseen(self, check: CheckReference) -> Unseen:
        return self._sources.of_checks.freshness(check).unseen(self._clock.hold())

    def _made_kind_metrics(self) -> list[KindMetrics]:
        return [kind.metrics(self._cluster_state, self._is_leader) for kind in WATCHED_KINDS.values()]

    def _add_handlers(self) -> None:
        """Add the handlers of changes in order: storms first, as answers depend on them."""
        handlers = self._cluster_state.event_handlers
        for changed in (
            self._storms.changed,
            self._deletions.changed,
            self._marked_targets.changed,
            self._limits.changed,
            self._dispatch.changed,
            self._reporters.of_checks.changed,
            self._reporters.of_targets.changed,
        ):
            handlers.add_change_handler(changed)
        for request_changed in (
            self._attempts.request_changed,
            self._limits.request_changed,
            self._reporters.of_checks.request_changed,
            self._ledger.request_changed,
        ):
            handlers.add_request_handler(request_changed)
        handlers.add_context_handler(self._upgrades.changed)
        handlers.add_context_handler(self._reporters.of_policy.changed)

    def _register_metrics(
        self, registry: CollectorRegistry, of_kinds: Sequence[KindMetrics], latency: FailureToRequest
    ) -> None:
        cluster_state, dispatch, sources = self._cluster_state, self._dispatch, self._sources
        for collector in (one for of_kind in of_kinds for one in of_kind.collectors):
            registry.register(collector)
        registry.register(latency.seconds)
        registry.register(
            LiveMetrics(
                cluster_state, sources.ages, lambda: dispatch.open_incidents, self._is_leader, self._now
            )
        )
        registry.register(ClockMetrics(lambda: self._clock.reading().skew))
        registry.register(self._failing_workflows)
        registry.register(self._own_status)
        registry.register(LimitMetrics(self._limits.stuck_slots, self._is_leader))
        registry.register(UpgradeMetrics(self._upgrades, self._now))

    async def run(self) -> None:
        """Watch, and lead while this detector holds the Lease."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cluster_state.resync.run())
            tasks.create_task(self._watch())
            tasks.create_task(self._upgrades.run())
            tasks.create_task(self._clock.run())
            tasks.create_task(self._election.run())
            tasks.create_task(self._handover.run())
            tasks.create_task(self._own_polls.run())
            tasks.create_task(self._connections.temporal.hold())
            tasks.create_task(self._report_election())
            tasks.create_task(look_forever(self._own_status.look))
            while True:
                await self._leads.wait()
                await self._lead()

    async def _watch(self) -> None:
        await self._blind_times.read()
        await self._known_clusters.read()
        await self._sources.run()

    def watched_templates(self, kind: Kind) -> Collection[Template] | None:
        """All templates of a kind, if a fresh watch shows each of them; else None."""
        return self._sources.watched_templates(kind)

    def _start_leading(self) -> None:
        self._lead_began = self._now()
        self._cluster_state.act_findings.clear()
        self._limits.lead_begins()
        self._own_polls.lead_begins()
        self._stopped.clear()
        self._leads.set()

    def _stop_leading(self) -> None:
        self._own_polls.lead_ends()
        self._leads.clear()
        self._stopped.set()

    @property
    def _leads_since(self) -> datetime | None:
        return self._lead_began if self._election.is_leader else None

    async def _lead(self) -> None:
        """Dispatch, answer and report until the Lease is lost."""
        await self._sources.wait_settled()
        leading = asyncio.ensure_future(self._act_as_leader())
        lost = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait((leading, lost), return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
            await _cancel(leading)

    async def _act_as_leader(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._attempt_reading.lead())
            await self._attempt_reading.wait_tried()
            tasks.create_task(self._blind_times.lead(self._sources.blind_times))
            noting = self._known_clusters.lead(
                self._sources.known_clusters, self._sources.take_noted_clusters
            )
            tasks.create_task(noting)
            tasks.create_task(self._storms.lead())
            tasks.create_task(self._limits.lead())
            tasks.create_task(self._ended_remediations.lead())
            tasks.create_task(self._dispatch.lead())
            tasks.create_task(self._upgrades.lead())
            tasks.create_task(self._reporters.lead())
            tasks.create_task(self._unseen_checks.lead(self._reporters.of_checks.changed))
            tasks.create_task(self._failing_workflows.lead())
            tasks.create_task(self._connections.temporal.work(self._task_worker))

    async def _report_election(self) -> None:
        """Report every second why the election fails; a standby has no such problem."""
        while True:
            self._connections.problems.report("leader Lease", self._election.problem)
            await asyncio.sleep(REPORT_EVERY_SECONDS)

    def _task_worker(self, temporal: Client) -> Worker:
        return self._answering.worker(temporal, self._connections.cluster, self._upgrades.observe_upgrade)

    def _sees(self, check: CheckReference) -> bool:
        """True if the sources of the numbers of `check` are fresh, and the clocks are right."""
        freshness = self._sources.of_checks.freshness(check)
        return self._is_certain(freshness) and not freshness.unread_requests

    def _sees_targets(self, check: CheckReference) -> bool:
        """True if the sources of the targets of `check` are fresh, regardless of their requests."""
        freshness = self._sources.of_checks.freshness(check)
        return self._is_certain(freshness) and not freshness.unread_context

    def _is_certain(self, freshness: CheckFreshness) -> bool:
        is_fresh = stale_cache(freshness.age, freshness.limit) is None and freshness.unreachable is None
        return is_fresh and (self._clock.hold() or freshness.clock) is None


async def _cancel(task: asyncio.Future[None]) -> None:
    """Cancel a task, and return when it has ended; raises its exception.

    Its worker may take seconds to end while Temporal is unreachable. Awaiting the task itself and suppressing
    its cancellation would also swallow our own cancellation meanwhile.
    """
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.result()
