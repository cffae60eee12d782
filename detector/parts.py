"""Parts: the parts of the detector of one cluster, each with the parts that it needs.

A part is made when another one first needs it, and making it has no effect on others. `connect` adds the
handlers of changes and the metrics once all parts exist.
"""

import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import cached_property

from prometheus_client.registry import Collector

from detector.answers.answering import Answering, never_failing
from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.attempts.attempts import AttemptReading, Attempts
from detector.attempts.unrequested_ends import UnrequestedEnds
from detector.context.cluster_notes import BLIND_TIMES, KNOWN_CLUSTERS, LeaseNotes, NoteLease
from detector.context.context import Context
from detector.context.sources_of_checks import UnseenChecks
from detector.dispatching.dispatch import Dispatch, Observe
from detector.dispatching.incident_calls import IncidentCalls
from detector.feeds.feed_handlers import FeedHandlers
from detector.feeds.feeds import Feeds, feeds_of
from detector.feeds.node_watch import BlindTime
from detector.feeds.policy_feed import PolicyFeed
from detector.feeds.remediation_kinds import RemediationKinds
from detector.feeds.workload_clusters import WorkloadAccess
from detector.inspection.inspector import Inspector
from detector.limits.remediation_limits import RemediationLimits
from detector.metrics.live_metrics import ClockMetrics, FailingWorkflows, LimitMetrics, LiveMetrics
from detector.metrics.request_metrics import RequestLedger
from detector.registry import WATCHED_KINDS
from detector.reporting.event_reporter import EventReporter, SharedNames
from detector.reporting.own_status import OwnStatus, TroubleReporter
from detector.reporting.refused_annotations import RefusedAnnotations
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.reporting.status_reporter import StatusReporter
from detector.reporting.target_reporter import TargetReporter
from detector.state.cluster_state import ClusterState
from detector.state.event_handlers import ChangeHandler
from detector.upgrade.upgrade_pauses import UpgradeMetrics, UpgradePauses
from health.check.template_validity import TemplateKind
from health.cluster.cluster_identity import KnownCluster
from health.cluster.upgrade import PauseProgress
from health.policy.policy import CurrentPolicy
from kube.leader import Leadership
from kube.rate_limiter import RateLimiter
from runtime import task_failures
from runtime.connections import Connections
from runtime.guard import Guard
from runtime.process_names import LEADER_LEASE
from runtime.settings import Settings

COUNT_TIMEOUT = timedelta(seconds=5)
EVENTS_AT_ONCE, EVENTS_PER_SECOND = 100, 10.0
"""Rate of the Events of all checks together: in a storm, requests have priority."""


class Parts:
    """All parts of one detector, from the state of the cluster up to the reports."""

    def __init__(self, settings: Settings, connections: Connections, defaults: CurrentPolicy) -> None:
        """`defaults` is the policy without a ConfigMap."""
        self.settings = settings
        self.connections = connections
        self._management = connections.management
        self._defaults = defaults
        self.now: Callable[[], datetime] = connections.management.server_clock.now
        """The clock for deadlines and for the times of observations."""
        self.leadership = Leadership(now=self.now)
        self._feed_handlers = FeedHandlers()

    # The state of the cluster, and what reads it: also in a standby.

    @cached_property
    def policy(self) -> PolicyFeed:
        return PolicyFeed(
            self._management.transport,
            self.settings.namespace,
            self._defaults,
            self._feed_handlers.context_changed,
            is_required=self.settings.requires_policy,
        )

    @cached_property
    def _kinds(self) -> RemediationKinds:
        return RemediationKinds(self._management, self.cluster_state, self.policy.reflectors)

    def _template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        """Ask the kinds, which need the state themselves."""
        return self._kinds.template_kind(api_version, kind)

    @cached_property
    def cluster_state(self) -> ClusterState:
        return ClusterState(
            self.connections.cluster,
            Guard(self.connections.metrics),
            self._template_kind,
            removes_confirmations=self.settings.confirmations == "remove",
        )

    @cached_property
    def _note_lease(self) -> NoteLease:
        namespace, problems = self.settings.namespace, self.connections.problems
        return NoteLease(self._management.client, namespace, LEADER_LEASE, problems)

    @cached_property
    def blind_times(self) -> LeaseNotes[BlindTime]:
        return LeaseNotes(BLIND_TIMES, self._note_lease)

    @cached_property
    def known_clusters(self) -> LeaseNotes[KnownCluster]:
        return LeaseNotes(KNOWN_CLUSTERS, self._note_lease)

    @cached_property
    def feeds(self) -> Feeds:
        others, skew = self.connections.workload_clusters, self._management.server_clock.skew
        return feeds_of(
            self._management,
            self.cluster_state,
            policy=self.policy,
            kinds=self._kinds,
            handlers=self._feed_handlers,
            lease_namespace=self.settings.lease_namespace,
            upgrade_signals=self.settings.upgrade_signals,
            check_kinds=self.settings.check_kinds,
            workload_clusters=WorkloadAccess(others.connect, others.close, self.blind_times.of, skew),
        )

    @cached_property
    def context(self) -> Context:
        return Context(
            cluster_state=self.cluster_state,
            feeds=self.feeds,
            server_clock=self._management.server_clock,
            blind_time=self.blind_times.of,
            known_cluster=self.known_clusters.of,
            pause_progress=self._pause_progress,
        )

    def _pause_progress(self) -> PauseProgress | None:
        """Ask the pauses, which need the context themselves."""
        return self.upgrades.progress()

    # The answers to the questions of incidents, and what the leader remembers for them.

    @cached_property
    def storms(self) -> Storms:
        return Storms(self.cluster_state, self.context.sources.sees, self.now)

    @cached_property
    def attempts(self) -> Attempts:
        return Attempts(self.policy.current, self.cluster_state, self.now)

    @cached_property
    def limits(self) -> RemediationLimits:
        proves = self.context.sources.is_proven
        return RemediationLimits(self.cluster_state, self.policy.current, proves, self.now)

    @cached_property
    def observer(self) -> Observer:
        return Observer(
            cluster_state=self.cluster_state,
            freshness=self.context.sources.freshness,
            storms=self.storms,
            back_off=self.attempts.before,
            limits=self.limits,
            now=self.now,
        )

    @cached_property
    def observe(self) -> Observe:
        """`observer.observe`, with a hold instead of an exception."""
        return never_failing(self.observer.observe, self.cluster_state)

    # The workflows of incidents and of the upgrade pause, and the calls to Temporal.

    @cached_property
    def calls(self) -> IncidentCalls:
        connections = self.connections
        return IncidentCalls(connections.temporal, connections.cluster, self.cluster_state.guard)

    @cached_property
    def attempt_reading(self) -> AttemptReading:
        return AttemptReading(self.calls, self.attempts, self.cluster_state, self.connections.problems)

    @cached_property
    def dispatch(self) -> Dispatch:
        return Dispatch(
            self.calls,
            self.cluster_state,
            self.observe,
            is_leader=self.leadership.is_leader,
            now=self.now,
            problems=self.connections.problems,
            answered=self.limits.answered,
            earlier_attempts=self.attempt_reading,
        )

    @cached_property
    def answering(self) -> Answering:
        count_on, is_leader = self.context.node_changes.count_on, self.leadership.is_leader
        return Answering(self.observe, self.dispatch, self.cluster_state, is_leader, count_on)

    @cached_property
    def inspector(self) -> Inspector:
        return Inspector(
            cluster_state=self.cluster_state,
            observer=self.observer,
            is_heard=self.dispatch.is_heard,
            is_leader=self.leadership.is_leader,
            identity=self.settings.identity,
        )

    @cached_property
    def upgrades(self) -> UpgradePauses:
        feeds = self.feeds
        return UpgradePauses(
            cluster=self.connections.cluster,
            temporal=self.connections.temporal,
            cluster_state=self.cluster_state,
            serves_signals=feeds.context.serves_signals,
            unread_signals=feeds.unread_signals,
            refresh=self.context.refresh,
            is_on=self.settings.upgrade_pause == "on",
            is_leader=self.leadership.is_leader,
            now=self.now,
            problems=self.connections.problems,
            long_upgrade=timedelta(seconds=self.settings.long_upgrade_seconds),
        )

    # Status, Events and metrics.

    @cached_property
    def own_status(self) -> OwnStatus:
        is_leader, refused = self.leadership.is_leader, self.dispatch.refused
        return OwnStatus(self.connections, self.settings, is_leader, self.limits.stuck_slots, refused)

    @cached_property
    def unseen_checks(self) -> UnseenChecks:
        return UnseenChecks(self.cluster_state, self.context.sources.unseen)

    @cached_property
    def event_reporter(self) -> EventReporter:
        return EventReporter(
            self._management.client,
            self.cluster_state,
            instance=self.settings.identity,
            namespace=self.settings.namespace,
            rate_limiter=RateLimiter(EVENTS_AT_ONCE, EVENTS_PER_SECOND, time.monotonic),
            now=self.now,
        )

    @cached_property
    def status_reporter(self) -> StatusReporter:
        return StatusReporter(
            client=self._management.client,
            cluster_state=self.cluster_state,
            sources=self.context.sources,
            storms=self.storms,
            snapshot_builder=SnapshotBuilder(self.cluster_state, self.attempts.before, self.unseen_checks.of),
            events=self.event_reporter,
            now=self.now,
            led_until=lambda: self.leadership.led_until,
        )

    @cached_property
    def target_reporter(self) -> TargetReporter:
        sees = self.context.sources.sees_targets
        return TargetReporter(self._management, self.cluster_state, sees, self.now)

    @cached_property
    def trouble_reporter(self) -> TroubleReporter:
        status, without_slots = self.own_status.reported, self.own_status.checks_without_slots
        return TroubleReporter(self.cluster_state, status, without_slots, self.event_reporter.emit, self.now)

    @cached_property
    def refused_annotations(self) -> RefusedAnnotations:
        return RefusedAnnotations(self.cluster_state, self.event_reporter.emit, self.now)

    @cached_property
    def failing_workflows(self) -> FailingWorkflows:
        async def counts() -> dict[str, int]:
            connections = self.connections
            return await task_failures.counts(connections.temporal(), connections.cluster, COUNT_TIMEOUT)

        return FailingWorkflows(counts)

    def change_handlers(self) -> tuple[tuple[ChangeHandler, str], ...]:
        """The handlers of changes, in the order of their calls, each with the reason for its place."""
        of_ends = (self.cluster_state, self.attempts, self.context.sources.is_read, self.now)
        return (
            (self.storms.changed, "every answer and every status below reads the storm of the check"),
            (
                UnrequestedEnds(*of_ends).changed,
                "a deletion, and the removal of a mark, end an attempt, which limits and answers read",
            ),
            (self.limits.changed, "an answer reads the free slots and the queue for them"),
            (self.dispatch.changed, "a remediation does not wait for a report"),
            (self.status_reporter.changed, "the status of a check is read before that of its targets"),
            (self.target_reporter.changed, "it reads what all above have noted"),
            (
                SharedNames(self.cluster_state, self.event_reporter.emit).changed,
                "an Event that decides nothing",
            ),
        )

    def connect(self) -> None:
        """Add the handlers of changes, in order, and register the metrics."""
        handlers = self.cluster_state.event_handlers
        self.context.connect()
        for changed, _ in self.change_handlers():
            handlers.add_change_handler(changed)

        is_leader = self.leadership.is_leader
        of_kinds = [kind.metrics(self.cluster_state, is_leader) for kind in WATCHED_KINDS.values()]
        series = [of_requests for of_kind in of_kinds for of_requests in of_kind.requests]
        ledger = RequestLedger(self.cluster_state, series, self.leadership.since, self.now)
        for request_changed in (
            self.attempts.request_changed,
            self.limits.request_changed,
            self.status_reporter.request_changed,
            ledger.request_changed,
        ):
            handlers.add_request_handler(request_changed)
        handlers.add_order_handler(self.event_reporter.ordered)
        handlers.add_context_handler(self.upgrades.changed.set)
        handlers.add_context_handler(self.event_reporter.policy_changed)

        of_all = [collector for of_kind in of_kinds for collector in of_kind.collectors]
        for collector in (*of_all, ledger.failure_to_request, *self._collectors()):
            self.connections.metrics.register(collector)

    def _collectors(self) -> Iterable[Collector]:
        """The metrics that are not about one kind of check."""
        is_leader, clock = self.leadership.is_leader, self.context.clock
        yield LiveMetrics(
            self.cluster_state, self.feeds.ages, lambda: self.dispatch.open_incidents, is_leader, self.now
        )
        yield ClockMetrics(lambda: clock.reading().skew)
        yield LimitMetrics(self.limits.stuck_slots, is_leader)
        yield UpgradeMetrics(self.upgrades, self.now)
        yield self.failing_workflows
        yield self.own_status
