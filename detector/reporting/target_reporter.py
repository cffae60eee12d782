"""TargetReporter: writes the reports of checks into the status of their targets when they change.

If two checks select a target, the one that calls it unhealthy wins. If one of them cannot be judged now,
there is no report. A check in shadow reports nothing.

Changes are found by changes of the cluster state, by deadlines, and, for a check that could not be judged,
every ten seconds, without requests to the API server. A report is computed again at each read before a write,
as another writer may have changed the target. Unhealthy targets come first. Reports do not delay
remediations: a failed write is retried after growing pauses.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from detector.state.facts import check_holds
from detector.state.target_store import place_of
from health.check.check_snapshot import TargetFindings, TargetReport, TargetReports
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import CheckProblem
from health.kinds.registry import CHECK_KINDS
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.sighting import Restart
from health.model.target import Target, TargetName
from kube.connection import ClusterConnection
from kube.errors import Conflict, KubernetesError, NotFound, retry_after
from kube.resource import Object
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from objects.backoff import Backoff
from objects.durations import JUST_AFTER
from objects.group_kind import ServedKind

WRITERS = 4
"""Concurrent writes: enough for a thousand new Machines in seconds, and too few to slow remediations."""
RETRIES = Backoff(timedelta(seconds=1), timedelta(minutes=1))
"""After a failed write."""
LOOK_AGAIN = timedelta(seconds=10)
"""How often to look at checks that could not be judged."""

_log = logging.getLogger(__name__)


class _Inputs(NamedTuple):
    """The inputs that all reports of one check share."""

    check: HealthCheck | InvalidCheckError
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


@dataclass(frozen=True)
class _Pause:
    """How long a target is not written after failed writes."""

    failures: int
    ends: datetime


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
        self._is_leading = False
        self._reported: dict[CheckReference, _Inputs] = {}
        self._deadlines: dict[TargetName, datetime] = {}
        self._first: datetime | None = None
        """The first deadline that is waited for."""
        self._unseen: set[CheckReference] = set()
        """Checks that could not be judged at the last look."""
        self._pauses: dict[TargetName, _Pause] = {}
        self._urgent: dict[TargetName, None] = {}
        self._ordinary: dict[TargetName, None] = {}
        self._filled = asyncio.Event()
        self._rescheduled = asyncio.Event()

    async def lead(self) -> None:
        self._is_leading = True
        try:
            for check in tuple(self._cluster_state.checks):
                self.changed(check, None)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_time())
                for _ in range(WRITERS):
                    tasks.create_task(self._write_what_is_due())
        finally:
            self._is_leading = False
            self._unseen.clear()
            for collection in (self._reported, self._deadlines, self._pauses, self._urgent, self._ordinary):
                collection.clear()

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Find reports that changed, while this detector is the leader."""
        if not self._is_leading or CHECK_KINDS[check.group_kind].target_reports is None:
            return
        if target is not None:
            self._consider(place_of(check).named(target))
        elif self._reported.get(check) != self._current_inputs(check):
            self._consider_all(check)

    def _current_inputs(self, check: CheckReference) -> _Inputs | None:
        check_state, context = self._cluster_state.checks.get(check), self._cluster_state.cluster_context
        if check_state is None:
            return None
        holds = check_holds(self._cluster_state, check, self._now())
        return _Inputs(
            check=check_state.check,
            problem=holds.problem,
            holds=tuple(str(found.hold) for found in holds.found),
            of_kind=context.of_kinds.get(check.group_kind),
            restarts=context.restarts(check_state.managed_cluster),
            is_shadow=check_state.is_shadow_in(context),
        )

    def _consider_all(self, check: CheckReference) -> None:
        with self._cluster_state.guard.item("target reports", check):
            check_state, inputs = self._cluster_state.checks.get(check), self._current_inputs(check)
            if check_state is None or inputs is None:
                self._reported.pop(check, None)
                return
            self._reported[check] = inputs
            # Each is judged at its turn: judging all at once would block the event loop for seconds.
            place = place_of(check)
            for name in check_state.selected:
                queue = self._urgent if name in check_state.unhealthy else self._ordinary
                queue[place.named(name)] = None
            self._filled.set()

    def _consider(self, name: TargetName) -> None:
        """Queue a write of the report unless it is stored already."""
        with self._cluster_state.guard.item("target reports", name):
            self._urgent.pop(name, None)
            self._ordinary.pop(name, None)
            due = self._due(name)
            if due is None:
                self._pauses.pop(name, None)
            elif not self._is_left_alone(name):
                (self._urgent if due.report.is_unhealthy else self._ordinary)[name] = None
                self._filled.set()

    def _is_left_alone(self, name: TargetName) -> bool:
        """True if its write has just failed; it is considered again when the pause ends."""
        pause = self._pauses.get(name)
        if pause is None or pause.ends <= self._now():
            return False
        self._note_deadline(name, pause.ends)
        return True

    def _due(self, name: TargetName) -> _Wanted | None:
        """The report to write on a target now; None if it is stored, or unknown."""
        wanted = self._wanted(name)
        is_stored = wanted is not None and wanted.reports.is_stored(wanted.report, wanted.target)
        return None if is_stored else wanted

    def _wanted(self, name: TargetName) -> _Wanted | None:
        """The report on a target now; None if it is gone, or a check cannot be judged.

        Notes when the report changes without an event.
        """
        target = self._cluster_state.targets.at(name.place).get(name.name)
        if target is None:
            self._deadlines.pop(name, None)
            return None
        wanted, changes, unseen = None, list[datetime](), None
        for reference, check_state, reports in self._reporting_on(name):
            if not self._sees(reference):
                wanted, unseen = None, reference
                break
            findings = self._findings(reference, target)
            change = reports.next_change(check_state.check, target, findings)
            changes += [] if change is None else [change]
            own_report = reports.wanted(check_state.check, target, findings)
            report = own_report if wanted is None else wanted.report.merged_with(own_report)
            wanted = _Wanted(reports, report, target, check_state.kind.targets)
        self._deadlines.pop(name, None)
        self._note_deadline(name, min(changes, default=None))
        if unseen is not None:
            self._unseen.add(unseen)
        return wanted

    def _reporting_on(self, name: TargetName) -> Iterator[tuple[CheckReference, CheckState, TargetReports]]:
        """The checks that report on the target."""
        context = self._cluster_state.cluster_context
        for reference, check_state in self._cluster_state.checks.items():
            reports = check_state.kind.target_reports
            if name.name not in check_state.selected or place_of(reference) != name.place:
                continue
            if reports is None or isinstance(check_state.check, InvalidCheckError):
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

    def _note_deadline(self, name: TargetName, deadline: datetime | None) -> None:
        earlier = self._deadlines.get(name)
        if deadline is None or (earlier is not None and earlier <= deadline):
            return
        self._deadlines[name] = deadline
        if self._first is None or deadline < self._first:
            self._rescheduled.set()

    async def _follow_time(self) -> None:
        """Consider targets again after their deadline, and checks that could not be judged."""
        loop = asyncio.get_running_loop()
        looked = loop.time()
        while True:
            # Wait until a deadline has passed or come nearer, or the next look is due.
            self._rescheduled.clear()
            first = self._first = min(self._deadlines.values(), default=None)
            wait = LOOK_AGAIN if first is None else min(LOOK_AGAIN, first + 2 * JUST_AFTER - self._now())
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, wait.total_seconds())):
                    await self._rescheduled.wait()
            now = self._now()
            for name in [
                target for target, deadline in self._deadlines.items() if deadline + JUST_AFTER <= now
            ]:
                self._deadlines[name] = now + LOOK_AGAIN  # for a target that cannot be judged
                self._consider(name)
            if loop.time() - looked >= LOOK_AGAIN.total_seconds():
                looked, unseen = loop.time(), tuple(self._unseen)
                self._unseen.clear()
                for check in unseen:
                    self._consider_all(check)

    async def _write_what_is_due(self) -> None:
        while True:
            await self._filled.wait()
            queue = self._urgent or self._ordinary
            if not queue:
                self._filled.clear()
                continue
            name = next(iter(queue))
            del queue[name]
            with self._cluster_state.guard.item("target reports", name):
                await self._write(name)
            await asyncio.sleep(0)  # without a write nothing else is awaited

    async def _write(self, name: TargetName) -> None:
        due = self._due(name)
        if due is None:
            self._pauses.pop(name, None)
            return
        if self._is_left_alone(name):
            return
        try:
            resource = await self._connection.discovery.first_served(due.kind)
            identity = ObjectIdentity(resource, name.namespace, name.name, due.target.metadata.uid)
            await patch_as_read(
                self._connection.client, identity, partial(self._status_patch, name), subresource="status"
            )
        except KubernetesError as error:
            if isinstance(error, NotFound):  # deleted, or discovery is out of date
                for api_version in due.kind.api_versions:
                    self._connection.discovery.forget(api_version)
            self._failed(name, error)
        else:
            self._pauses.pop(name, None)

    def _failed(self, name: TargetName, error: KubernetesError) -> None:
        level = logging.DEBUG if isinstance(error, Conflict | NotFound) else logging.WARNING
        _log.log(level, "report on a target not written", extra={"target": name, "reason": error.message})
        pause = self._pauses.get(name)
        failures = 1 if pause is None else pause.failures + 1
        ends = self._now() + max(retry_after(error), RETRIES.limit(failures))
        self._pauses[name] = _Pause(failures, ends)
        self._note_deadline(name, ends)

    def _status_patch(self, name: TargetName, found: Object) -> dict[str, Any]:
        """The patch of a target as read: its report at this moment."""
        wanted = self._wanted(name)
        if wanted is None or wanted.target.metadata.uid != found["metadata"]["uid"]:
            return {}
        return wanted.reports.patch(wanted.report, found, self._now())
