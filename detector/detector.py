"""Detector: the process that watches one cluster.

It watches from the start, so that a standby is ready to take over; it dispatches, answers and reports only
while it holds the leader Lease.
"""

import asyncio
from contextlib import AsyncExitStack

from temporalio.client import Client
from temporalio.worker import Worker

from detector.handover import HandoverTimes, OwnPolls, StandBack
from detector.parts import Parts
from detector.registry import WATCHED_KINDS
from health.model.sighting import Gap
from health.policy.policy import DEFAULTS, CurrentPolicy
from kube.leader import LeaderElection
from objects.clusters import MANAGEMENT_CLUSTER
from runtime.connections import Connections, connected
from runtime.process_names import DETECTOR, LEADER_LEASE
from runtime.settings import Settings
from runtime.status_writer import look_forever
from workflows.contracts import detector_queue

REPORT_EVERY_SECONDS = 1.0
HANDOVER = HandoverTimes()


async def run(settings: Settings) -> None:
    async with connected(settings, DETECTOR) as connections:
        parts = build(settings, connections, lambda: DEFAULTS)
        async with AsyncExitStack() as webhooks:
            for webhook in (kind.webhook for kind in WATCHED_KINDS.values() if kind.webhook is not None):
                templates = parts.feeds.watched_templates
                await webhooks.enter_async_context(webhook(settings, connections, templates))
            await Detector(parts).run()


def build(settings: Settings, connections: Connections, defaults: CurrentPolicy) -> Parts:
    """Make and connect the parts over these connections; `defaults` is the policy without a ConfigMap."""
    parts = Parts(settings, connections, defaults)
    parts.connect()
    return parts


class Detector:
    """The process: runs the parts, and takes part in the leader election."""

    def __init__(self, parts: Parts, times: HandoverTimes = HANDOVER) -> None:
        self._parts = parts
        connections, identity = parts.connections, parts.settings.identity
        self._own_polls = OwnPolls(connections.temporal, detector_queue(connections.cluster), identity)
        silence, is_leader = connections.temporal.silence, parts.leadership.is_leader
        self._election = LeaderElection(
            connections.management.client,
            parts.settings.namespace,
            LEADER_LEASE,
            identity,
            parts.leadership,
            on_started=self._start_leading,
            on_stopped=self._own_polls.lead_ends,
            gives_way=StandBack(silence, self._own_polls.silence, is_leader, times).begin_if_due,
        )

    async def run(self) -> None:
        """Watch, and lead while this detector holds the Lease."""
        parts = self._parts
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(parts.cluster_state.resync.run())
            tasks.create_task(self._watch())
            tasks.create_task(parts.context.clock.run())
            tasks.create_task(self._election.run())
            tasks.create_task(self._own_polls.run())
            tasks.create_task(self._note_begin_of_watch())
            tasks.create_task(parts.connections.temporal.hold())
            tasks.create_task(self._report_election())
            tasks.create_task(look_forever(parts.own_status.look))
            while True:
                await parts.leadership.wait_begun()
                await self._lead()

    async def _watch(self) -> None:
        """Read the notes of an earlier process, and then watch until cancelled."""
        parts = self._parts
        await parts.blind_times.read()
        await parts.known_clusters.read()
        await parts.feeds.run(parts.connections.problems, parts.blind_times.of(MANAGEMENT_CLUSTER))

    def _start_leading(self) -> None:
        parts = self._parts
        parts.cluster_state.act_findings.clear()
        parts.cluster_state.progress.clear()
        parts.limits.lead_begins(parts.leadership.led_until)
        self._own_polls.lead_begins()

    async def _lead(self) -> None:
        """Dispatch, answer and report until the Lease is lost."""
        await self._parts.feeds.wait_settled()
        self._note_time_without_leader()
        leading = asyncio.ensure_future(self._act_as_leader())
        lost = asyncio.ensure_future(self._parts.leadership.wait_over())
        try:
            await asyncio.wait((leading, lost), return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
            await _cancel(leading)

    async def _note_begin_of_watch(self) -> None:
        await self._parts.feeds.wait_settled()
        self._parts.attempts.watch_begins()

    def _note_time_without_leader(self) -> None:
        """Note how long no detector led: longer than the duration of a check, it restarts its timers."""
        parts = self._parts
        led_until, now = parts.leadership.led_until, parts.now()
        if led_until is not None and led_until < now:
            parts.feeds.own_nodes.add_gap(Gap(since=led_until, until=now))
            parts.context.refresh()

    async def _act_as_leader(self) -> None:
        parts, context = self._parts, self._parts.context
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(parts.attempt_reading.lead())
            await parts.attempt_reading.wait_tried()
            tasks.create_task(parts.blind_times.lead(context.blind_times, context.take_noted_gaps))
            tasks.create_task(parts.known_clusters.lead(context.known_clusters, context.take_noted_clusters))
            tasks.create_task(parts.storms.lead())
            tasks.create_task(parts.limits.lead())
            tasks.create_task(parts.limits.read_ended(parts.calls, parts.connections.problems))
            tasks.create_task(parts.dispatch.lead())
            tasks.create_task(parts.upgrades.lead())
            for reporter in (
                parts.event_reporter,
                parts.status_reporter,
                parts.target_reporter,
                parts.trouble_reporter,
                parts.refused_annotations,
            ):
                tasks.create_task(reporter.lead())
            tasks.create_task(parts.unseen_checks.lead(parts.status_reporter.changed))
            tasks.create_task(parts.failing_workflows.lead())
            tasks.create_task(parts.connections.temporal.work(self._task_worker))

    async def _report_election(self) -> None:
        """Report every second why the election fails; a standby has no such problem."""
        while True:
            self._parts.connections.problems.report("leader Lease", self._election.problem)
            await asyncio.sleep(REPORT_EVERY_SECONDS)

    def _task_worker(self, temporal: Client) -> Worker:
        parts = self._parts
        others = (parts.upgrades.observe_upgrade, *parts.inspector.activities)
        return parts.answering.worker(temporal, parts.connections.cluster, *others)


async def _cancel(task: asyncio.Future[None]) -> None:
    """Cancel a task, and return when it has ended; raises its exception.

    Its worker may take seconds to end while Temporal is unreachable. Awaiting the task itself and suppressing
    its cancellation would also swallow our own cancellation meanwhile.
    """
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.result()
