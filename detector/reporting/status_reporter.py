"""StatusReporter: writes the status of each check when it changes, at most twice a second, and emits Events.

A write carries all changes since the last one. The status changes with the cluster state and when deadlines
pass, and for nothing else. It does not delay remediations: failed writes are retried, and a status that takes
long, for example with a thousand nodes, is written less often.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from detector.answers.storms import Storms
from detector.context.sources_of_checks import SourcesOfChecks
from detector.reporting.event_reporter import EventReporter
from detector.reporting.report_queue import ReportQueue
from detector.reporting.snapshot_builder import SnapshotBuilder, SnapshotDraft, rendered
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from health.check.check_snapshot import REPORTED_WITHIN, CheckSnapshot, TargetSnapshot
from health.check.health_check import HealthCheck
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.model.request_snapshot import RequestChange
from health.model.verdict import Health
from kube.client import Client
from kube.resource import Object, Resource
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from objects.durations import JUST_AFTER
from objects.event import Event

GATHER = timedelta(seconds=0.2)
"""Changes come in groups (a deadline, and the request after it): one write carries the group."""


@dataclass(kw_only=True)
class _Memory:
    """The changes since the last report on one check, for the next one."""

    led_until: datetime | None
    """When the previous leader stopped reporting; None without one, or after shadow mode."""
    before: CheckSnapshot | None = None
    """The last reported snapshot."""
    request_changes: list[RequestChange] = field(default_factory=list)
    """Changes of requests since the last snapshot."""
    requested: list[TargetSnapshot] = field(default_factory=list)
    """The unhealthy targets of requests created since then, as they were at that moment."""

    def reported(self, snapshot: CheckSnapshot | None, *, is_shadow: bool = False) -> None:
        """Remember the last reported snapshot; in shadow nothing was reported, by any leader."""
        self.before = snapshot
        self.led_until = None if is_shadow else self.led_until

    def take_changes(self) -> tuple[tuple[RequestChange, ...], tuple[TargetSnapshot, ...]]:
        """Remove and return the changes of requests, and the targets of new ones."""
        taken = tuple(self.request_changes), tuple(self.requested)
        self.request_changes, self.requested = [], []
        return taken


@dataclass(kw_only=True)
class StatusReporter:
    """The reports on all checks of one cluster, while this detector is the leader."""

    client: Client
    cluster_state: ClusterState
    sources: SourcesOfChecks
    storms: Storms
    snapshot_builder: SnapshotBuilder
    events: EventReporter
    now: Callable[[], datetime]
    led_until: Callable[[], datetime | None]
    """When the previous leader last renewed its Lease; None if there was none."""
    queue: ReportQueue[CheckReference] = field(init=False)
    _memories: dict[CheckReference, _Memory] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.queue = ReportQueue(
            name="status",
            report=self._report,
            guard=self.cluster_state.guard,
            wait_ready=self._wait_ready,
        )

    async def lead(self) -> None:
        def begin() -> None:
            for check in self.cluster_state.checks:
                self.queue.put(check)

        try:
            await self.queue.lead(begin)
        finally:
            self._memories.clear()

    def changed(self, check: CheckReference, target: str | None) -> None:  # noqa: ARG002  any change counts
        """Have the check reported on, while this detector is the leader."""
        self.queue.put(check)

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """Report this change too: the next snapshot may show neither the request nor the failure."""
        latest = after or before
        if latest is None or latest.owner is None or (before is not None and before.owner != latest.owner):
            return  # a change of its owner is neither a creation nor a deletion
        if not self.queue.is_leading or latest.owner not in self.cluster_state.checks:
            return
        memory, name = self._memory(latest.owner), latest.request.target_name
        memory.request_changes.append(
            RequestChange(name, before.snapshot if before else None, after.snapshot if after else None)
        )
        if memory.request_changes[-1].made is None:
            return
        target = self.snapshot_builder.target(latest.owner, name, self.now())
        if target is not None and target.verdict.health is Health.EXPIRED:
            memory.requested.append(target)

    def _memory(self, check: CheckReference) -> _Memory:
        if check not in self._memories:
            self._memories[check] = _Memory(led_until=self.led_until())
        return self._memories[check]

    async def _wait_ready(self, check: CheckReference) -> None:
        """Return when a group of changes has come, and every source of the check was read."""
        await asyncio.sleep(GATHER.total_seconds())
        await self.sources.wait_read(check)
        await self.sources.wait_kinds(check)

    async def _report(self, check: CheckReference) -> timedelta | None:
        """Report on a check, unless it is deleted; returns when its next deadline passes."""
        memory = self._memory(check)
        draft = self._draft(check, memory)
        if draft is None:
            del self._memories[check]
            return None
        snapshot, stored, now = await draft.in_pieces(), draft.record, self.now()
        kind, before = CHECK_KINDS[check.group_kind], memory.before

        def render() -> tuple[list[Event], dict[str, Any]]:
            """The Events and the patch of the status: pure functions of immutable values."""
            events = kind.events(before, snapshot, stored.status, now)
            return [*events], kind.status_patch(snapshot, stored.status, now)

        try:
            events, patch = await rendered(snapshot, render)
        except Exception:
            self._memories.pop(check, None)  # the next report starts anew
            raise
        check_state, context = self.cluster_state.checks.get(check), self.cluster_state.cluster_context
        if check_state is None:
            return None  # its deletion has put it again
        if check_state.is_shadow_in(context):
            self.events.forget(check)
            memory.reported(None, is_shadow=True)
            return self._next_deadline(snapshot)
        if events:
            self.events.emit(check, events)
        memory.reported(snapshot)
        if patch:
            # The resourceVersion makes the write conditional on the version that it was computed from.
            body = {"metadata": {"resourceVersion": stored.metadata.resource_version}, "status": patch}
            await self.client.merge_patch(
                _resource(check, stored), check.name, body, check.namespace, subresource="status"
            )
        await self._write_metadata(check, snapshot.check, stored)
        return self._next_deadline(snapshot)

    def _draft(self, check: CheckReference, memory: _Memory) -> SnapshotDraft | None:
        """The next snapshot to report; None if the check is deleted. A new check of its name starts anew."""
        self.storms.advance(check)
        draft = self.snapshot_builder.draft(check, self.storms.of(check), self.now())
        changes, requested = memory.take_changes()
        if draft is None:
            return None
        if memory.before is not None and draft.snapshot.uid != memory.before.uid:
            memory.reported(None)
            changes, requested = (), ()
        # An earlier leader emitted no Events of a check that is newer than its last renewal.
        created = draft.record.metadata.creation_timestamp
        is_new = memory.led_until is None or memory.led_until < created + REPORTED_WITHIN
        until = None if is_new else memory.led_until
        snapshot = replace(draft.snapshot, request_changes=changes, requested=requested, reported_until=until)
        return replace(draft, snapshot=snapshot)

    async def _write_metadata(
        self, reference: CheckReference, check: HealthCheck | None, stored: CheckRecord
    ) -> None:
        """Write missing metadata onto the check as read: other writers edit the list of its owners too."""
        context = self.cluster_state.cluster_context
        if check is None or check.is_fully_paused_in(context):
            return
        if not check.metadata_patch(stored.metadata.model_dump(by_alias=True), context):
            return

        def lacking(found: Object) -> dict[str, Any]:
            patch = check.metadata_patch(found["metadata"], context)
            return {"metadata": patch} if patch else {}

        resource, uid = _resource(reference, stored), stored.metadata.uid
        identity = ObjectIdentity(resource, reference.namespace, reference.name, uid)
        await patch_as_read(self.client, identity, lacking)

    def _next_deadline(self, snapshot: CheckSnapshot) -> timedelta | None:
        """After which time the next timer or step of a target ends, or a hold is reported."""
        targets = snapshot.targets.values()
        deadlines = (
            *(target.verdict.deadline for target in targets if target.verdict.health is Health.WAITING),
            *(target.step_ends for target in targets),
            *(target.owner_until for target in targets),
            snapshot.holds.reported_at,
        )
        first = min((deadline for deadline in deadlines if deadline is not None), default=None)
        return None if first is None else max(timedelta(), first - self.now()) + JUST_AFTER


def _resource(check: CheckReference, stored: CheckRecord) -> Resource:
    kind = CHECK_KINDS[check.group_kind]
    return Resource(stored.api_version or kind.api_version, kind.kind, kind.plural, kind.is_namespaced)
