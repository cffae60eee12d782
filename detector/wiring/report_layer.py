"""The fifth layer: status, Events and metrics."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from prometheus_client.registry import Collector

from detector.metrics.failing_workflows import FailingWorkflows
from detector.metrics.limit_metrics import LimitMetrics
from detector.metrics.live_metrics import ClockMetrics, LiveMetrics
from detector.metrics.request_metrics import FailureToRequest, RequestLedger
from detector.registry import WATCHED_KINDS
from detector.reporting.own_status import OwnStatus
from detector.reporting.reporters import Reporters
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.reporting.status_reporter import ReporterDependencies
from detector.reporting.unseen_checks import UnseenChecks
from detector.upgrade.upgrade_metrics import UpgradeMetrics
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
    own_status = OwnStatus(state.connections, state.settings, is_leader, answers.limits.stuck_slots)
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
    of_checks, management = watched.context.of_checks, state.connections.management
    dependencies = ReporterDependencies(
        client=management.client,
        cluster_state=state.cluster_state,
        sources=of_checks,
        storms=answers.storms,
        snapshot_builder=SnapshotBuilder(state.cluster_state, answers.attempts.before, unseen_checks.of),
        rate_limiter=RateLimiter(EVENTS_AT_ONCE, EVENTS_PER_SECOND, time.monotonic),
        instance=state.settings.identity,
        now=state.now,
        led_until=state.leadership.led_until,
    )
    return Reporters(dependencies, management, of_checks.sees_targets, own_status, state.settings.namespace)


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
