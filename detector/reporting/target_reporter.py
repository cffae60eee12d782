"""TargetReporter: writes the reports of checks into the status of their targets when they change.

If two checks select a target, the one that calls it unhealthy wins. If one of them cannot be judged now,
there is no report. A check in shadow reports nothing.

Changes are found by changes of the cluster state, by deadlines, and, for a check that could not be judged,
every ten seconds, without requests to the API server. A report is computed again at each read before a write,
as another writer may have changed the target. Unhealthy targets come first. Reports do not delay
remediations.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from detector.answers.judged_target import check_holds
from detector.reporting.report_queue import ReportQueue
from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.check.check_snapshot import TargetFindings, TargetReport, TargetReports
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import CheckProblem
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.model.sighting import Restart
from health.model.target import Target, TargetName
from kube.connection import ClusterConnection
from kube.errors import NotFound
from kube.resource import Object
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from objects.durations import JUST_AFTER
from objects.group_kind import ServedKind

WRITERS = 4
"""Concurrent writes: enough for a thousand new Machines in seconds, and too few to slow remediations."""
LOOK_AGAIN = timedelta(seconds=10)
"""How often to look at the targets of a check that could not be judged."""


class _Inputs(NamedTuple):
    """The inputs that all reports of one check share."""

    check: HealthCheck | None
    problem: CheckProblem | None
    holds: tuple[str, ...]
    """In words, without the time to ask again, which changes at each look."""
    of_kind: Any
    restarts: tuple[Restart, ...]
    is_shadow: bool


@dataclass(frozen=True)
class _Wanted:
    """A report, which the status of the target may have already."""

    reports: TargetReports
    report: TargetReport
    target: Target
    kind: ServedKind


class TargetReporter:
    """The reports on targets of one cluster, while this detector is the leader."""

    def __init__(
        self,
        connection: ClusterConnection,
        cluster_state: ClusterState,
        sees: Callable[[CheckReference], bool],
        now: Callable[[], datetime],
    ) -> None:
        self._connection = connection
        self._cluster_state = cluster_state
        self._now = now
        self._sees = sees
        self._reported: dict[CheckReference, _Inputs] = {}
        self._queue: ReportQueue[TargetName] = ReportQueue(
            name="target reports",
            report=self._report,
            guard=cluster_state.guard,
            is_urgent=self._is_unhealthy,
            at_once=WRITERS,
        )

    async def lead(self) -> None:
        def begin() -> None:
            for check in self._cluster_state.checks:
                self.changed(check, None)

        try:
            await self._queue.lead(begin)
        finally:
            self._reported.clear()

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Find reports that changed, while this detector is the leader.

        Each target is judged at its turn: judging all at once would block the event loop for seconds.
        """
        if not self._queue.is_leading or CHECK_KINDS[check.group_kind].target_reports is None:
            return
        place, check_state = place_of(check), self._cluster_state.checks.get(check)
        if target is not None:
            self._queue.put(place.named(target))
        elif check_state is None:
            self._reported.pop(check, None)
        elif (inputs := self._inputs(check, check_state)) != self._reported.get(check):
            self._reported[check] = inputs
            for name in check_state.selected:
                self._queue.put(place.named(name))

    def _inputs(self, check: CheckReference, check_state: CheckState) -> _Inputs:
        context, holds = (
            self._cluster_state.cluster_context,
            check_holds(self._cluster_state, check, self._now()),
        )
        return _Inputs(
            check=check_state.check,
            problem=holds.problem,
            holds=tuple(str(found.hold) for found in holds.found),
            of_kind=context.of_kinds.get(check.group_kind),
            restarts=context.restarts(check_state.managed_cluster),
            is_shadow=check_state.is_shadow_in(context),
        )

    def _is_unhealthy(self, name: TargetName) -> bool:
        return any(name.name in check_state.unhealthy for _, check_state, _ in self._reporting_on(name))

    async def _report(self, name: TargetName) -> timedelta | None:
        """Write the report on a target, unless its status has it; returns when the report changes."""
        wanted, change = self._wanted(name)
        changes_after = None if change is None else max(timedelta(), change - self._now()) + JUST_AFTER
        if wanted is None or wanted.reports.is_stored(wanted.report, wanted.target):
            return changes_after
        try:
            resource = await self._connection.discovery.first_served(wanted.kind)
            identity = ObjectIdentity(resource, name.namespace, name.name, wanted.target.metadata.uid)
            await patch_as_read(
                self._connection.client, identity, partial(self._status_patch, name), subresource="status"
            )
        except NotFound:  # deleted, or discovery is out of date
            for api_version in wanted.kind.api_versions:
                self._connection.discovery.forget(api_version)
            raise
        return changes_after

    def _status_patch(self, name: TargetName, found: Object) -> dict[str, Any]:
        """The patch of a target as read: its report at this moment."""
        wanted, _ = self._wanted(name)
        if wanted is None or wanted.target.metadata.uid != found["metadata"]["uid"]:
            return {}
        return wanted.reports.patch(wanted.report, found, self._now())

    def _wanted(self, name: TargetName) -> tuple[_Wanted | None, datetime | None]:
        """The report on a target now, and when it changes without an event.

        There is no report if the target is gone, or a check cannot be judged.
        """
        target = self._cluster_state.targets.at(name.place).get(name.name)
        if target is None:
            return None, None
        wanted, changes = None, list[datetime]()
        for reference, check_state, reports in self._reporting_on(name):
            if not self._sees(reference):
                return None, self._now() + LOOK_AGAIN
            findings = self._findings(reference, target)
            change = reports.next_change(check_state.check, target, findings)
            changes += [] if change is None else [change]
            own_report = reports.wanted(check_state.check, target, findings)
            report = own_report if wanted is None else wanted.report.merged_with(own_report)
            wanted = _Wanted(reports, report, target, check_state.kind.targets)
        return wanted, min(changes, default=None)

    def _reporting_on(self, name: TargetName) -> Iterator[tuple[CheckReference, CheckState, TargetReports]]:
        """The checks that report on the target."""
        context = self._cluster_state.cluster_context
        for reference, check_state in self._cluster_state.checks.items():
            reports = check_state.kind.target_reports
            if name.name not in check_state.selected or place_of(reference) != name.place:
                continue
            if reports is None or check_state.check is None:
                continue
            if not check_state.is_shadow_in(context):
                yield reference, check_state, reports

    def _findings(self, check: CheckReference, target: Target) -> TargetFindings:
        name, uid = target.metadata.name, target.metadata.uid
        acts, inputs = self._cluster_state.act_findings, self._reported.get(check)
        found = acts.of(check, name, uid)
        has_request = bool(self._cluster_state.requests.of(check, name))
        return TargetFindings(
            now=self._now(),
            context=self._cluster_state.cluster_context,
            problem=None if has_request or inputs is None else inputs.problem,
            request_error=found.request_error if found is not None else None,
            is_request_unreported=not has_request and not acts.is_heard(check, name, uid),
        )
