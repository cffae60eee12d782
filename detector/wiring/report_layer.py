"""The fifth layer: status, Events and metrics."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from prometheus_client.registry import Collector

from detector.context.sources_of_checks import UnseenChecks
from detector.metrics.failing_workflows import FailingWorkflows
from detector.metrics.live_metrics import ClockMetrics, LimitMetrics, LiveMetrics
from detector.metrics.request_metrics import FailureToRequest, RequestLedger
from detector.registry import WATCHED_KINDS
from detector.reporting.own_status import OwnStatus, TroubleReporter
from detector.reporting.policy_reporter import PolicyReporter
from detector.reporting.refused_annotations import RefusedAnnotations
from detector.reporting.shared_names import SharedNames
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.reporting.status_reporter import ReporterDependencies, StatusReporters
from detector.reporting.target_reporter import TargetReporter
from detector.upgrade.upgrade_pauses import UpgradeMetrics
from detector.wiring.answer_layer import AnswerLayer
from detector.wiring.dispatch_layer import DispatchLayer
from detector.wiring.state_layer import StateLayer
from detector.wiring.watch_layer import WatchLayer
from kube.rate_limiter import RateLimiter
from runtime import task_failures

COUNT_TIMEOUT = timedelta(seconds=5)
EVENTS_AT_ONCE, EVENTS_PER_SECOND = 100, 10.0
"""Rate of the Events of all checks together: in a storm, requests have priority."""


@dataclass(frozen=True, kw_only=True)
class Reporters:
    """The reporters of one detector, which run while it is the leader."""

    of_checks: StatusReporters
    of_targets: TargetReporter
    of_policy: PolicyReporter
    of_trouble: TroubleReporter
    of_orders: RefusedAnnotations
    of_names: SharedNames

    async def lead(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.of_checks.lead())
            for reporter in (self.of_targets, self.of_policy, self.of_trouble, self.of_orders):
                tasks.create_task(reporter.lead())


@dataclass(frozen=True, kw_only=True)
class ReportLayer:
    """The parts that report to people and to Prometheus."""

    own_status: OwnStatus
    unseen_checks: UnseenChecks
    reporters: Reporters
    failing_workflows: FailingWorkflows
    ledger: RequestLedger
    collectors: Sequence[Collector]
    """All metrics of the detector."""


def report_layer(
    state: StateLayer, watched: WatchLayer, answers: AnswerLayer, dispatching: DispatchLayer
) -> ReportLayer:
    cluster_state, is_leader = state.cluster_state, state.leadership.is_leader
    unseen_checks = UnseenChecks(cluster_state, watched.context.of_checks.unseen)
    own_status = OwnStatus(
        state.connections,
        state.settings,
        is_leader,
        answers.limits.stuck_slots,
        dispatching.dispatch.refused,
    )
    failing_workflows = FailingWorkflows(partial(_failing_workflows, state))
    of_kinds = [kind.metrics(cluster_state, is_leader) for kind in WATCHED_KINDS.values()]
    latency = FailureToRequest(cluster_state)
    series = [of_requests for of_kind in of_kinds for of_requests in of_kind.requests]
    return ReportLayer(
        own_status=own_status,
        unseen_checks=unseen_checks,
        reporters=_reporters(state, watched, answers, own_status, unseen_checks),
        failing_workflows=failing_workflows,
        ledger=RequestLedger(series, latency, state.term.since, state.now),
        collectors=[
            *(collector for of_kind in of_kinds for collector in of_kind.collectors),
            latency.seconds,
            *_collectors(state, watched, answers, dispatching),
            failing_workflows,
            own_status,
        ],
    )


async def _failing_workflows(state: StateLayer) -> dict[str, int]:
    connections = state.connections
    return await task_failures.counts(connections.temporal(), connections.cluster, COUNT_TIMEOUT)


def _reporters(
    state: StateLayer,
    watched: WatchLayer,
    answers: AnswerLayer,
    own_status: OwnStatus,
    unseen_checks: UnseenChecks,
) -> Reporters:
    cluster_state, now = state.cluster_state, state.now
    management, of_checks = state.connections.management, watched.context.of_checks
    dependencies = ReporterDependencies(
        client=management.client,
        cluster_state=cluster_state,
        sources=of_checks,
        storms=answers.storms,
        snapshot_builder=SnapshotBuilder(cluster_state, answers.attempts.before, unseen_checks.of),
        rate_limiter=RateLimiter(EVENTS_AT_ONCE, EVENTS_PER_SECOND, time.monotonic),
        instance=state.settings.identity,
        now=now,
        led_until=state.leadership.led_until,
    )
    reporters = StatusReporters(dependencies)
    return Reporters(
        of_checks=reporters,
        of_targets=TargetReporter(management, cluster_state, of_checks.sees_targets, now),
        of_policy=PolicyReporter(
            management.client,
            state.settings.identity,
            state.settings.namespace,
            lambda: cluster_state.cluster_context.policy,
            now,
        ),
        of_trouble=TroubleReporter(
            cluster_state, own_status.reported, own_status.checks_without_slots, reporters.emit, now
        ),
        of_orders=RefusedAnnotations(cluster_state, reporters.emit, now),
        of_names=SharedNames(cluster_state, reporters.emit),
    )


def _collectors(
    state: StateLayer, watched: WatchLayer, answers: AnswerLayer, dispatching: DispatchLayer
) -> Sequence[Collector]:
    is_leader, clock = state.leadership.is_leader, watched.context.clock
    return (
        LiveMetrics(
            state.cluster_state,
            watched.feeds.ages,
            lambda: dispatching.dispatch.open_incidents,
            is_leader,
            state.now,
        ),
        ClockMetrics(lambda: clock.reading().skew),
        LimitMetrics(answers.limits.stuck_slots, is_leader),
        UpgradeMetrics(dispatching.upgrades, state.now),
    )
