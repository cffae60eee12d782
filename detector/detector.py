"""Detector: the process that watches one cluster.

It watches from the start, so that a standby is ready to take over; it dispatches, answers and reports only
while it holds the leader Lease.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from temporalio.client import Client
from temporalio.worker import Worker

from detector.handover import HandoverTimes, OwnPolls, StandBack
from detector.registry import WATCHED_KINDS
from detector.wiring.answer_layer import AnswerLayer, add_answer_handlers, answer_layer
from detector.wiring.dispatch_layer import DispatchLayer, dispatch_layer
from detector.wiring.report_layer import ReportLayer, report_layer
from detector.wiring.state_layer import StateLayer, state_layer
from detector.wiring.watch_layer import WatchLayer, watch, watch_layer
from health.model.sighting import Gap
from health.policy.policy import DEFAULTS, CurrentPolicy
from kube.leader import LeaderElection
from runtime.connections import Connections, connected
from runtime.process_names import DETECTOR, LEADER_LEASE
from runtime.settings import Settings
from runtime.status_writer import look_forever
from workflows.contracts import detector_queue

REPORT_EVERY_SECONDS = 1.0
HANDOVER = HandoverTimes()


async def run(settings: Settings) -> None:
    async with connected(settings, DETECTOR) as connections:
        layers = build(settings, connections, lambda: DEFAULTS)
        async with AsyncExitStack() as webhooks:
            for webhook in (kind.webhook for kind in WATCHED_KINDS.values() if kind.webhook is not None):
                templates = layers.watched.feeds.watched_templates
                await webhooks.enter_async_context(webhook(settings, connections, templates))
            await Detector(layers).run()


@dataclass(frozen=True, kw_only=True)
class Layers:
    """The layers of the detector of one cluster; each knows only those above it in this list."""

    state: StateLayer
    watched: WatchLayer
    answers: AnswerLayer
    dispatching: DispatchLayer
    reporting: ReportLayer


def build(settings: Settings, connections: Connections, defaults: CurrentPolicy) -> Layers:
    """Build the layers over these connections; `defaults` is the policy without a ConfigMap."""
    state = state_layer(settings, connections, defaults)
    watched = watch_layer(state)
    answers = answer_layer(state, watched.context)
    dispatching = dispatch_layer(state, watched, answers)
    reporting = report_layer(state, watched, answers, dispatching)
    layers = Layers(
        state=state, watched=watched, answers=answers, dispatching=dispatching, reporting=reporting
    )
    _add_handlers(layers)
    for collector in reporting.collectors:
        connections.metrics.register(collector)
    return layers


def _add_handlers(layers: Layers) -> None:
    """Add the handlers of changes in order: those of answers first, as all others depend on them."""
    state, watched, dispatching = layers.state, layers.watched, layers.dispatching
    reporters = layers.reporting.reporters
    add_answer_handlers(state, watched, layers.answers)
    handlers = state.cluster_state.event_handlers
    handlers.add_change_handler(dispatching.dispatch.changed)
    handlers.add_change_handler(reporters.of_checks.changed)
    handlers.add_change_handler(reporters.of_targets.changed)
    handlers.add_change_handler(reporters.of_names.changed)
    handlers.add_request_handler(reporters.of_checks.request_changed)
    handlers.add_request_handler(layers.reporting.ledger.request_changed)
    handlers.add_order_handler(reporters.of_checks.ordered)
    handlers.add_context_handler(watched.pause_state.changed.set)
    handlers.add_context_handler(reporters.of_policy.changed)


class Detector:
    """The process: runs the layers, and takes part in the leader election."""

    def __init__(self, layers: Layers, times: HandoverTimes = HANDOVER) -> None:
        self._layers = layers
        self._term = layers.state.term
        connections, identity = layers.state.connections, layers.state.settings.identity
        self._own_polls = OwnPolls(connections.temporal, detector_queue(connections.cluster), identity)
        leadership, silence = layers.state.leadership, connections.temporal.silence
        stand_back = StandBack(silence, self._own_polls.silence, leadership.is_leader, times)
        self._election = LeaderElection(
            connections.management.client,
            layers.state.settings.namespace,
            LEADER_LEASE,
            identity,
            leadership,
            on_started=self._start_leading,
            on_stopped=self._stop_leading,
            gives_way=stand_back.begin_if_due,
        )

    async def run(self) -> None:
        """Watch, and lead while this detector holds the Lease."""
        state, watched = self._layers.state, self._layers.watched
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(state.cluster_state.resync.run())
            tasks.create_task(watch(watched, state.connections))
            tasks.create_task(watched.context.clock.run())
            tasks.create_task(self._election.run())
            tasks.create_task(self._own_polls.run())
            tasks.create_task(self._note_begin_of_watch())
            tasks.create_task(state.connections.temporal.hold())
            tasks.create_task(self._report_election())
            tasks.create_task(look_forever(self._layers.reporting.own_status.look))
            while True:
                await self._term.wait_begun()
                await self._lead()

    def _start_leading(self) -> None:
        self._term.begin()
        self._layers.state.cluster_state.act_findings.clear()
        self._layers.state.cluster_state.progress.clear()
        self._layers.answers.limits.lead_begins(self._layers.state.leadership.led_until())
        self._own_polls.lead_begins()

    def _stop_leading(self) -> None:
        self._own_polls.lead_ends()
        self._term.end()

    async def _lead(self) -> None:
        """Dispatch, answer and report until the Lease is lost."""
        await self._layers.watched.feeds.wait_settled()
        self._note_time_without_leader()
        leading = asyncio.ensure_future(self._act_as_leader())
        lost = asyncio.ensure_future(self._term.wait_over())
        try:
            await asyncio.wait((leading, lost), return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
            await _cancel(leading)

    async def _note_begin_of_watch(self) -> None:
        await self._layers.watched.feeds.wait_settled()
        self._layers.answers.attempts.watch_begins()

    def _note_time_without_leader(self) -> None:
        """Note how long no detector led: longer than the duration of a check, it restarts its timers."""
        state, watched = self._layers.state, self._layers.watched
        led_until, now = state.leadership.led_until(), state.now()
        if led_until is not None and led_until < now:
            watched.feeds.own_nodes.watch.add_gap(Gap(since=led_until, until=now))
            watched.context.assembly.refresh()

    async def _act_as_leader(self) -> None:
        watched, answers = self._layers.watched, self._layers.answers
        dispatching, reporting = self._layers.dispatching, self._layers.reporting
        notes = watched.context.notes
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(dispatching.attempt_reading.lead())
            await dispatching.attempt_reading.wait_tried()
            tasks.create_task(watched.blind_times.lead(notes.blind_times, notes.take_noted_gaps))
            tasks.create_task(watched.known_clusters.lead(notes.known_clusters, notes.take_noted_clusters))
            tasks.create_task(answers.storms.lead())
            tasks.create_task(answers.limits.lead())
            tasks.create_task(dispatching.ended_remediations.lead())
            tasks.create_task(dispatching.dispatch.lead())
            tasks.create_task(dispatching.upgrades.lead())
            tasks.create_task(reporting.reporters.lead())
            tasks.create_task(reporting.unseen_checks.lead(reporting.reporters.of_checks.changed))
            tasks.create_task(reporting.failing_workflows.lead())
            tasks.create_task(self._layers.state.connections.temporal.work(self._task_worker))

    async def _report_election(self) -> None:
        """Report every second why the election fails; a standby has no such problem."""
        while True:
            self._layers.state.connections.problems.report("leader Lease", self._election.problem)
            await asyncio.sleep(REPORT_EVERY_SECONDS)

    def _task_worker(self, temporal: Client) -> Worker:
        dispatching = self._layers.dispatching
        cluster = self._layers.state.connections.cluster
        return dispatching.answering.worker(
            temporal, cluster, dispatching.upgrades.observe_upgrade, *dispatching.inspector.activities
        )


async def _cancel(task: asyncio.Future[None]) -> None:
    """Cancel a task, and return when it has ended; raises its exception.

    Its worker may take seconds to end while Temporal is unreachable. Awaiting the task itself and suppressing
    its cancellation would also swallow our own cancellation meanwhile.
    """
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.result()
