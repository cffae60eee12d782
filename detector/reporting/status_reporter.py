"""StatusReporter: writes the status of one check when it changes, at most twice a second, and emits Events.

A write carries all changes since the last one. The status changes with the cluster state and when deadlines
pass; the reporter wakes for both and for nothing else. It does not delay remediations: failed writes are
retried, and a status that takes long, for example with a thousand nodes, is written less often. Each check
has a reporter while this detector is the leader.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from detector.answers.storms import Storms
from detector.context.sources_of_checks import SourcesOfChecks
from detector.reporting.event_queue import EventQueue
from detector.reporting.snapshot_builder import SnapshotBuilder, SnapshotDraft, rendered
from detector.reporting.target_events import approval_event, order_event
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from health.check.check_snapshot import REPORTED_WITHIN, CheckSnapshot, TargetSnapshot
from health.check.health_check import HealthCheck
from health.kinds.registry import CHECK_KINDS
from health.model.approval import Approval
from health.model.order import OrderRecord
from health.model.references import CheckReference, IncidentReference
from health.model.request_snapshot import RequestChange
from health.model.verdict import Health
from kube.client import Client
from kube.errors import Conflict, KubernetesError, NotFound, retry_after
from kube.rate_limiter import RateLimiter
from kube.resource import Object, Resource
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from objects.backoff import Backoff
from objects.durations import JUST_AFTER
from objects.event import Event

BETWEEN_WRITES = timedelta(seconds=0.5)
GATHER = timedelta(seconds=0.2)
"""Changes come in groups (a deadline, and the request after it): one write carries the group."""
FAILED_WRITES = Backoff(timedelta(seconds=0.5), timedelta(seconds=8))
"""Between two failed writes."""
PAUSE_FOR_WORK = 9
"""The pause after a report, as a multiple of its duration: it may be large, and have many watchers."""
LONGEST_PAUSE = timedelta(seconds=5)
"""Limits that pause, as the API server may have been slow, and people read the status."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ReporterDependencies:
    """The dependencies that the reporters of all checks share."""

    client: Client
    cluster_state: ClusterState
    sources: SourcesOfChecks
    storms: Storms
    snapshot_builder: SnapshotBuilder
    rate_limiter: RateLimiter
    """The rate of Events."""
    instance: str
    now: Callable[[], datetime]
    led_until: Callable[[], datetime | None]
    """When the previous leader last renewed its Lease; None if there was none."""


class StatusReporter:
    """Reports on one check until it is deleted."""

    def __init__(self, dependencies: ReporterDependencies, reference: CheckReference) -> None:
        self._dependencies = dependencies
        self._reference = reference
        self._kind = CHECK_KINDS[reference.group_kind]
        self._event_queue = EventQueue(
            dependencies.client, dependencies.instance, reference, dependencies.rate_limiter, dependencies.now
        )
        self._before: CheckSnapshot | None = None
        self._led_until = dependencies.led_until()
        """When the previous leader stopped reporting; None without one, or after shadow mode."""
        self._request_changes: list[RequestChange] = []
        """Changes of requests since the last snapshot."""
        self._requested: list[TargetSnapshot] = []
        """The unhealthy targets of requests created since then, as they were at that moment."""
        self._failed_writes, self._retry_after = 0, timedelta()
        """The failed writes in a row, and the Retry-After of the latest."""
        self.changed = asyncio.Event()
        """Set it when the check may have changed."""

    def request_changed(self, change: RequestChange) -> None:
        """Report this change too: the next snapshot may show neither the request nor the failure."""
        self._request_changes.append(change)
        if change.made is None:
            return
        now = self._dependencies.now()
        target = self._dependencies.snapshot_builder.target(self._reference, change.target, now)
        if target is not None and target.verdict.health is Health.EXPIRED:
            self._requested.append(target)

    def emit(self, events: Iterable[Event]) -> bool:
        """Emit these Events besides those of its snapshots; returns whether the check exists."""
        check_state = self._dependencies.cluster_state.checks.get(self._reference)
        if check_state is not None:
            self._event_queue.emit(events, check_state.record.metadata.uid)
        return check_state is not None

    async def run(self) -> None:
        """Write status and Events until the check is deleted."""
        async with asyncio.TaskGroup() as tasks:
            recording = tasks.create_task(self._event_queue.run())
            await self._report_until_gone()
            recording.cancel()

    async def _report_until_gone(self) -> None:
        while True:
            await asyncio.sleep(GATHER.total_seconds())
            await self._dependencies.sources.wait_read(self._reference)
            await self._dependencies.sources.wait_kinds(self._reference)
            self.changed.clear()
            began = time.monotonic()
            draft = self._draft()
            if draft is None:
                return
            snapshot = await draft.in_pieces()
            await self._report(snapshot, draft.record)
            took = timedelta(seconds=time.monotonic() - began)
            wait = self._retry_after + FAILED_WRITES.limit(self._failed_writes)
            await asyncio.sleep(max(pause_after(took), wait).total_seconds())
            await self._wait(_next_deadline(snapshot))

    def _draft(self) -> SnapshotDraft | None:
        """The next snapshot to report; None if the check is deleted. A new check of its name starts anew."""
        self._dependencies.storms.advance(self._reference)
        storm = self._dependencies.storms.of(self._reference)
        draft = self._dependencies.snapshot_builder.draft(self._reference, storm, self._dependencies.now())
        changes, self._request_changes = tuple(self._request_changes), []
        requested, self._requested = tuple(self._requested), []
        if draft is None:
            return None
        if self._before is not None and draft.snapshot.uid != self._before.uid:
            self._before, changes, requested = None, (), ()
        # An earlier leader emitted no Events of a check that is newer than its last renewal.
        created = draft.record.metadata.creation_timestamp
        is_new = self._led_until is None or self._led_until < created + REPORTED_WITHIN
        until = None if is_new else self._led_until
        snapshot = replace(draft.snapshot, request_changes=changes, requested=requested, reported_until=until)
        return replace(draft, snapshot=snapshot)

    async def _report(self, snapshot: CheckSnapshot, stored: CheckRecord) -> None:
        """Report a snapshot; `stored` makes the write of the status conditional on the check's version."""
        now, before, status = self._dependencies.now(), self._before, stored.status

        def render() -> tuple[list[Event], dict[str, Any]]:
            """The Events and the patch of the status: pure functions of immutable values."""
            events = self._kind.events(before, snapshot, status, now)
            return [*events], self._kind.status_patch(snapshot, status, now)

        notes, patch = await rendered(snapshot, render)
        check_state = self._dependencies.cluster_state.checks.get(self._reference)
        if check_state is None:
            return
        if check_state.is_shadow_in(self._dependencies.cluster_state.cluster_context):
            self._event_queue.forget()
            self._before = self._led_until = None  # nothing was emitted meanwhile
            return
        self._event_queue.emit(notes, stored.metadata.uid)
        self._before = snapshot
        try:
            if patch:
                # The resourceVersion makes the write conditional on the version that it was computed from.
                body = {"metadata": {"resourceVersion": stored.metadata.resource_version}, "status": patch}
                name, resource = self._reference, self._resource(stored)
                await self._dependencies.client.merge_patch(
                    resource, name.name, body, name.namespace, subresource="status"
                )
            await self._write_metadata(snapshot.check, stored)
            self._failed_writes, self._retry_after = 0, timedelta()
        except NotFound:
            return
        except KubernetesError as error:
            # In an outage the stored status is as old as the watch: each write is a conflict.
            level = logging.DEBUG if isinstance(error, Conflict) else logging.WARNING
            about = {"check": self._reference, "reason": error.message}
            _log.log(level, "status not written yet", extra=about)
            self._failed_writes += 1
            self._retry_after = retry_after(error)
            self.changed.set()

    async def _write_metadata(self, check: HealthCheck | None, stored: CheckRecord) -> None:
        """Write missing metadata onto the check as read: other writers edit the list of its owners too."""
        context = self._dependencies.cluster_state.cluster_context
        if check is None or check.is_fully_paused_in(context):
            return
        if not check.metadata_patch(stored.metadata.model_dump(by_alias=True), context):
            return

        def lacking(found: Object) -> dict[str, Any]:
            patch = check.metadata_patch(found["metadata"], context)
            return {"metadata": patch} if patch else {}

        name, uid = self._reference, stored.metadata.uid
        identity = ObjectIdentity(self._resource(stored), name.namespace, name.name, uid)
        await patch_as_read(self._dependencies.client, identity, lacking)

    def _resource(self, stored: CheckRecord) -> Resource:
        kind = self._kind
        api_version = stored.api_version or kind.api_version
        return Resource(api_version, kind.kind, kind.plural, kind.is_namespaced)

    async def _wait(self, deadline: datetime | None) -> None:
        timeout = None
        if deadline is not None:
            timeout = (max(timedelta(), deadline - self._dependencies.now()) + JUST_AFTER).total_seconds()
        try:
            async with asyncio.timeout(timeout):
                await self.changed.wait()
        except TimeoutError:
            return


def pause_after(took: timedelta) -> timedelta:
    """How long to wait after a report of this duration."""
    return max(BETWEEN_WRITES - GATHER, min(PAUSE_FOR_WORK * took, LONGEST_PAUSE))


def _next_deadline(snapshot: CheckSnapshot) -> datetime | None:
    """When the next timer or step of a target ends, or a hold is reported."""
    targets = snapshot.targets.values()
    waiting = [target.verdict.deadline for target in targets if target.verdict.health is Health.WAITING]
    steps = [target.step_ends for target in targets]
    owners = [target.owner_until for target in targets]
    deadlines = (*waiting, *steps, *owners, snapshot.holds.reported_at)
    return min((deadline for deadline in deadlines if deadline is not None), default=None)


class StatusReporters:
    """Starts a reporter for each check; it ends by itself when its check is deleted."""

    def __init__(self, dependencies: ReporterDependencies) -> None:
        self._dependencies = dependencies
        self._reporters: dict[CheckReference, StatusReporter] = {}
        self._tasks: asyncio.TaskGroup | None = None

    async def lead(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                try:
                    for check in list(self._dependencies.cluster_state.checks):
                        self.changed(check, None)
                    await asyncio.Event().wait()
                finally:
                    # Before the group ends its reporters: a new task in it would raise, and end the watches.
                    self._tasks = None
        finally:
            self._reporters.clear()

    def changed(self, check: CheckReference, target: str | None) -> None:  # noqa: ARG002  any change counts
        """Have the check reported on, while this detector is the leader."""
        if self._tasks is None:
            return
        if check not in self._reporters and check in self._dependencies.cluster_state.checks:
            self._reporters[check] = StatusReporter(self._dependencies, check)
            self._tasks.create_task(self._run(check))
        if check in self._reporters:
            self._reporters[check].changed.set()

    def emit(self, check: CheckReference, events: Iterable[Event]) -> bool:
        """Emit Events on a check, while this detector is the leader; returns whether they will be written."""
        reporter = self._reporters.get(check)
        return reporter is not None and reporter.emit(events)

    def ordered(
        self, incident: IncidentReference, orders: Sequence[OrderRecord], approval: Approval | None
    ) -> None:
        """Emit an Event on the target for each order and each question, unless the check is in shadow."""
        check_state, context = (
            self._dependencies.cluster_state.checks.get(incident.check),
            self._dependencies.cluster_state.cluster_context,
        )
        if check_state is None or check_state.is_shadow_in(context):
            return
        events = [order_event(incident, order) for order in orders]
        questions = [approval_event(incident, approval)] if approval and approval.answer is None else []
        if events or questions:
            self.emit(incident.check, [*events, *questions])

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """Report what happened to a request of a check."""
        latest = after or before
        if latest is None or latest.owner is None or (before is not None and before.owner != latest.owner):
            return  # a change of its owner is neither a creation nor a deletion
        if latest.owner in self._reporters:
            change = RequestChange(
                latest.request.target_name,
                before.snapshot if before else None,
                after.snapshot if after else None,
            )
            self._reporters[latest.owner].request_changed(change)

    async def _run(self, check: CheckReference) -> None:
        """Report on one check; after an exception its next change starts a new reporter."""
        try:
            with self._dependencies.cluster_state.guard.item("status", check):
                await self._reporters[check].run()
        finally:
            self._reporters.pop(check, None)
