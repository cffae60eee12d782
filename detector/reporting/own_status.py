"""OwnStatus: what this detector reports in the ParamedicStatus, and the number of polling workers.

The leader reports everything, and asks Temporal for its workers; a standby only reports a missing leader.
`TroubleReporter` reports the same on the checks that wait.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio.service import RPCError

from detector.reporting.event_reporter import EmitEvents
from detector.state.cluster_state import ClusterState
from health.model.references import CheckReference
from health.policy.limits import StuckSlots
from kube.server_clock import monotonic_clock
from objects.event import Event, Severity
from objects.timestamps import stamp
from runtime.connections import Connections
from runtime.paramedic_status import (
    Answer,
    ConditionType,
    Installation,
    ParamedicCondition,
    ParamedicStatusDocument,
    WorkerObservation,
    by_leader,
    of_caches,
    of_refusals,
    of_slots,
)
from runtime.polling import QUEUES, backlog, workers_polling
from runtime.process_names import DETECTOR
from runtime.settings import Settings
from runtime.status_writer import LeaderWatch, StatusWriter
from runtime.temporal import temporal_namespace
from workflows.contracts import worker_queue

ASK_EVERY = timedelta(seconds=30)
REPORT_AFTER = timedelta(minutes=1)
LOOK_AGAIN_SECONDS = 10.0
REPORTED = (
    ConditionType.TEMPORAL_REACHABLE,
    ConditionType.WORKER_AVAILABLE,
    ConditionType.SLOTS_AVAILABLE,
)
"""The conditions that a leader can report; only a standby can report a missing leader."""


class OwnStatus(Collector):
    """Reports the state of the installation, for one detector."""

    def __init__(
        self,
        connections: Connections,
        settings: Settings,
        is_leader: Callable[[], bool],
        stuck_slots: Callable[[], tuple[StuckSlots, ...] | None],
        refused: Callable[[], Sequence[str]],
    ) -> None:
        """`stuck_slots` returns the limits that are kept full for too long; None if that is not known yet.

        `refused` returns the incidents that Temporal refuses, with the errors.
        """
        self._stuck_slots = stuck_slots
        self._refused = refused
        management = connections.management
        self._connections = connections
        self._identity = settings.identity
        self._installation = Installation(
            cluster=connections.cluster,
            lease_namespace=settings.lease_namespace,
            temporal_namespace=temporal_namespace(None),
        )
        self._is_leader = is_leader
        self._writer = StatusWriter(
            management.client, settings.namespace, DETECTOR, settings.identity, management.server_clock.now
        )
        self._watch = LeaderWatch(management.client, settings.namespace, self._writer)
        self._workers = WorkerObservation()
        self._oldest: dict[str, timedelta] = {}
        self._asked_at: timedelta | None = None
        self._reported: ParamedicStatusDocument | None = None

    def reported(self) -> ParamedicStatusDocument | None:
        """The ParamedicStatus as of the latest look; None for a standby."""
        return self._reported

    def checks_without_slots(self) -> frozenset[CheckReference]:
        """The checks whose targets wait for stuck slots."""
        return frozenset(check for stuck in self._stuck_slots() or () for check in stuck.waiting)

    async def look(self) -> None:
        """Report the current state.

        Raises:
            KubernetesError: an object cannot be read or written.

        """
        if not self._is_leader():
            self._workers, self._asked_at, self._reported = WorkerObservation(), None, None
            self._oldest = {}
            await self._watch.look()
            return
        self._watch.forget()
        await self._ask()
        read = await self._writer.made()
        now, trouble = _now(), self._connections.temporal.trouble()
        if self._is_leader():
            before = ParamedicStatusDocument.read(read).condition(ConditionType.SLOTS_AVAILABLE)
            stuck = self._stuck_slots()
            statements = (
                *by_leader(
                    self._identity,
                    trouble,
                    self._workers,
                    worker_queue(self._connections.cluster),
                    now,
                    is_answered=self._connections.temporal.is_answered,
                ),
                of_slots(None if stuck is None else "; ".join(map(str, stuck)), before),
                of_refusals(self._refused()),
                of_caches(self._connections.management.transport.room.fullness),
            )
            self._reported = await self._writer.report(statements, read, self._installation)

    async def _ask(self) -> None:
        """Ask Temporal for workers if that is due; after a failure, ask again at the next look."""
        now = _now()
        if self._asked_at is not None and now - self._asked_at < ASK_EVERY:
            return
        cluster = self._connections.cluster
        try:
            client = self._connections.temporal()
            polling = await workers_polling(client, worker_queue(cluster))
            self._oldest = {
                name: (await backlog(client, queue(cluster))).oldest for name, queue in QUEUES.items()
            }
        except RPCError:  # TemporalLink reports an outage
            self._workers, self._asked_at, self._oldest = self._workers.answered(None, now), None, {}
        else:
            self._workers, self._asked_at = self._workers.answered(polling, now), now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the last answers; no series without one, or in a standby."""
        text = "How full each cache of this cluster is: 1 is all that it may have, by the memory limit."
        full = GaugeMetricFamily("paramedic_cache_fullness_ratio", text, labels=["source"])
        for source, part in sorted(self._connections.management.transport.room.fullness.items()):
            full.add_metric([source], part)
        yield full
        text = "Workers that poll for tasks of this cluster, as Temporal listed them up to 30 s ago."
        if self._is_leader() and self._workers.polling is not None:
            yield GaugeMetricFamily("paramedic_workers_polling", text, value=self._workers.polling)
        text = "How long the oldest task of a queue of this cluster has waited in Temporal, up to 30 s ago."
        waiting = GaugeMetricFamily("paramedic_backlog_seconds", text, labels=["queue"])
        for name, oldest in self._oldest.items():
            waiting.add_metric([name], oldest.total_seconds())
        yield waiting


def _now() -> timedelta:
    return timedelta(seconds=monotonic_clock())


class TroubleReporter:
    """Emits Events on checks that wait because Temporal or all workers are unreachable.

    A check whose targets wait for stuck slots gets such an Event too. A user who describes a check does not
    see the ParamedicStatus. Only checks with an unhealthy target or a request get the Events: other checks
    are not affected, and Events on hundreds of checks would hide the problem. A check that gets its first
    unhealthy target later gets its Event then.

    One Event is emitted when the problem has lasted for a minute, one at its end, with the reasons of the
    ParamedicStatus. The name of an Event is derived from the transition time of the condition, so a new
    leader emits no duplicate. A leader that takes over after the end does not report it. All this works
    without Temporal.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        status: Callable[[], ParamedicStatusDocument | None],
        without_slots: Callable[[], Collection[CheckReference]],
        emit: EmitEvents,
        now: Callable[[], datetime],
    ) -> None:
        """`status` returns the ParamedicStatus of this detector; None before its first report.

        `without_slots` returns the checks whose targets wait for stuck slots.
        """
        self._cluster_state = cluster_state
        self._without_slots = without_slots
        self._status = status
        self._emit = emit
        self._now = now
        self._reported: dict[CheckReference, frozenset[str]] = {}
        """The conditions that were reported on a check as false."""

    async def lead(self) -> None:
        """Emit due Events every ten seconds, until cancelled."""
        self._reported.clear()
        while True:
            with self._cluster_state.guard.item("status", "Events about trouble"):
                self.look()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def look(self) -> None:
        """Emit the Events that are due on each check."""
        status, now = self._status(), self._now()
        if status is None:
            return
        self._reported = {
            check: types for check, types in self._reported.items() if check in self._cluster_state.checks
        }
        for check in self._cluster_state.checks:
            reported = self._reported.get(check, frozenset())
            due = [condition for condition in news(status, reported, now) if self._concerns(check, condition)]
            uid = self._cluster_state.checks[check].record.metadata.uid
            if due and self._emit(check, [event_of(condition, uid) for condition in due]):
                self._reported[check] = reported ^ {condition.type for condition in due}

    def _concerns(self, check: CheckReference, condition: ParamedicCondition) -> bool:
        """True to report the condition on the check; the end of a reported problem always is."""
        state, context = self._cluster_state.checks[check], self._cluster_state.cluster_context
        if state.is_silent_in(context) or state.is_shadow_in(context):
            return False
        if condition.status == Answer.TRUE:
            return True
        if condition.type == ConditionType.SLOTS_AVAILABLE:
            return check in self._without_slots()
        return bool(state.unhealthy or self._cluster_state.requests.targets_of(check))


def news(
    status: ParamedicStatusDocument, known_false: frozenset[str], now: datetime
) -> list[ParamedicCondition]:
    """The conditions to report on a check for which `known_false` were reported.

    An unknown condition is not reported, as another condition gives the cause.
    """
    found = []
    for condition in filter(None, map(status.condition, REPORTED)):
        is_over = condition.status == Answer.TRUE
        has_lasted = now - condition.last_transition_time >= REPORT_AFTER
        if condition.type in known_false:
            found += [condition] if is_over else []
        elif condition.status == Answer.FALSE and has_lasted:
            found.append(condition)
    return found


def event_of(condition: ParamedicCondition, uid: str) -> Event:
    """The Event on the check with this uid."""
    is_over = condition.status == Answer.TRUE
    return Event(
        seed="\n".join((uid, condition.type, condition.status, stamp(condition.last_transition_time))),
        severity=Severity.NORMAL if is_over else Severity.WARNING,
        reason=condition.type if is_over else condition.reason,
        message=f"Remediation {'goes on' if is_over else 'waits'}: {condition.message}",
    )
