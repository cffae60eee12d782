"""OwnStatus: what this detector reports in the ParamedicStatus, and the number of polling workers.

The leader reports everything, and asks Temporal for its workers; a standby only reports a missing leader.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio.service import RPCError

from health.model.references import CheckReference
from health.policy.stuck_slots import StuckSlots
from kube.server_clock import monotonic_clock
from runtime.connections import Connections
from runtime.leader_watch import LeaderWatch
from runtime.paramedic_status import ConditionType, Installation, ParamedicStatusDocument
from runtime.polling import workers_polling
from runtime.process_names import DETECTOR
from runtime.settings import Settings
from runtime.statements import WorkerObservation, by_leader, of_slots
from runtime.status_writer import StatusWriter
from runtime.temporal import temporal_namespace
from workflows.contracts import worker_queue

ASK_EVERY = timedelta(seconds=30)


class OwnStatus(Collector):
    """Reports the state of the installation, for one detector."""

    def __init__(
        self,
        connections: Connections,
        settings: Settings,
        is_leader: Callable[[], bool],
        stuck_slots: Callable[[], tuple[StuckSlots, ...] | None],
    ) -> None:
        """`stuck_slots` returns the limits that are kept full for too long; None if that is not known yet."""
        self._stuck_slots = stuck_slots
        management = connections.management
        self._temporal = connections.temporal
        self._queue = worker_queue(connections.cluster)
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
            await self._watch.look()
            return
        self._watch.forget()
        await self._ask()
        read = await self._writer.made()
        now, trouble = _now(), self._temporal.trouble()
        if self._is_leader():
            before = ParamedicStatusDocument.read(read).condition(ConditionType.SLOTS_AVAILABLE)
            statements = (
                *by_leader(self._identity, trouble, self._workers, self._queue, now),
                of_slots(self._stuck_words(), before),
            )
            self._reported = await self._writer.report(statements, read, self._installation)

    def _stuck_words(self) -> str | None:
        stuck = self._stuck_slots()
        return None if stuck is None else "; ".join(map(str, stuck))

    async def _ask(self) -> None:
        """Ask Temporal for workers if that is due; after a failure, ask again at the next look."""
        now = _now()
        if self._asked_at is not None and now - self._asked_at < ASK_EVERY:
            return
        try:
            polling = await workers_polling(self._temporal(), self._queue)
        except RPCError:  # TemporalLink reports an outage
            self._workers, self._asked_at = self._workers.answered(None, now), None
        else:
            self._workers, self._asked_at = self._workers.answered(polling, now), now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the last answer; no series without one, or in a standby."""
        text = "Workers that poll for tasks of this cluster, as Temporal listed them up to 30 s ago."
        if self._is_leader() and self._workers.polling is not None:
            yield GaugeMetricFamily("paramedic_workers_polling", text, value=self._workers.polling)


def _now() -> timedelta:
    return timedelta(seconds=monotonic_clock())
