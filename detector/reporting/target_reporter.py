"""TargetReporter: writes what checks say of their targets into the status of these, on change.

Which targets have something else to say is found out as the cluster state changes, as deadlines pass, and,
where a check could not be judged by, every ten seconds; nothing is asked of the API server for that. What is
written is judged once more then, at each read that a write rests on: what was to be said before somebody else
wrote may not be so any more. Targets that are unhealthy come first, and all of this is off the path of
remediations: what fails is tried again, after pauses that grow, and holds nobody up.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from detector.reporting.wanted_report import TargetJudge, WantedReport
from detector.state.cluster_state import ClusterState
from detector.state.facts import check_context
from detector.state.target_store import place_of
from health.gate.check_context import CheckContext
from health.gate.cluster_context import CheckProblem
from health.gate.health_check import HealthCheck
from health.gate.invalid_check import InvalidCheckError
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.model.target import TargetName
from kube.connection import ClusterConnection
from kube.errors import Conflict, KubernetesError, NotFound, retry_after
from kube.resource import Object
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from objects.backoff import Backoff
from objects.durations import JUST_AFTER
from objects.group_kind import ServedKind

WRITERS = 4
"""As many at once: a thousand new Machines are a matter of seconds, and remediations feel none of it."""
RETRIES = Backoff(timedelta(seconds=1), timedelta(minutes=1))
"""After a write that failed."""
LOOK_AGAIN = timedelta(seconds=10)
"""At checks that could not be judged by."""

_log = logging.getLogger(__name__)


class _Inputs(NamedTuple):
    """What all reports of one check rest on, beside its targets."""

    check: HealthCheck | InvalidCheckError
    context: CheckContext
    of_kind: Any
    blind_until: datetime | None
    is_shadow: bool


@dataclass(frozen=True)
class _Pause:
    """How long a target is left alone after the last writes, which all failed."""

    failures: int
    ends: datetime


class TargetReporter:
    """The reports on targets of one cluster, while this detector holds the lead."""

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
        self._judge = TargetJudge(cluster_state, sees, self._problem, now)
        self._is_leading = False
        self._told: dict[CheckReference, _Inputs] = {}
        self._deadlines: dict[TargetName, datetime] = {}
        self._first: datetime | None = None
        """The first deadline that is waited for."""
        self._unseen: set[CheckReference] = set()
        """Checks that could not be judged by when they were asked last."""
        self._pauses: dict[TargetName, _Pause] = {}
        self._urgent: dict[TargetName, None] = {}
        self._ordinary: dict[TargetName, None] = {}
        self._filled = asyncio.Event()
        self._rescheduled = asyncio.Event()

    async def lead(self) -> None:
        """Report until cancelled."""
        self._is_leading = True
        try:
            for check in tuple(self._cluster_state.checks):
                self._consider_all(check)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_time())
                for _ in range(WRITERS):
                    tasks.create_task(self._write_what_is_due())
        finally:
            self._is_leading = False
            self._forget()

    def _forget(self) -> None:
        self._unseen.clear()
        for known in (self._told, self._deadlines, self._pauses, self._urgent, self._ordinary):
            known.clear()

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Find out what is to be said otherwise, while we lead."""
        if not self._is_leading or CHECK_KINDS[check.group_kind].target_reports is None:
            return
        if target is not None:
            self._consider(place_of(check).named(target))
        elif self._told.get(check) != self._current_inputs(check):
            self._consider_all(check)

    def _current_inputs(self, check: CheckReference) -> _Inputs | None:
        known, context = self._cluster_state.checks.get(check), self._cluster_state.cluster_context
        if known is None:
            return None
        return _Inputs(
            known.check,
            check_context(self._cluster_state, check, self._now()),
            context.of_kinds.get(check.group_kind),
            context.blind_until(known.managed_cluster),
            known.is_shadow_in(context),
        )

    def _consider_all(self, check: CheckReference) -> None:
        with self._cluster_state.guard.item("target reports", check):
            known, told = self._cluster_state.checks.get(check), self._current_inputs(check)
            if known is None or told is None:
                self._told.pop(check, None)
                return
            self._told[check] = told
            # Each is judged when its turn comes: all at once would hold up everybody else, for seconds.
            for name in known.selected:
                queue = self._urgent if name in known.unhealthy else self._ordinary
                queue[place_of(check).named(name)] = None
            self._filled.set()

    def _consider(self, name: TargetName) -> None:
        """Have a report written unless it is stored."""
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
        """Whether its write has just failed; it is considered again when the pause ends."""
        pause = self._pauses.get(name)
        if pause is None or pause.ends <= self._now():
            return False
        self._note_deadline(name, pause.ends)
        return True

    def _due(self, name: TargetName) -> WantedReport | None:
        """What is to be written of a target now; None: nothing."""
        wanted = self._wanted(name)
        return None if wanted is None or wanted.is_stored else wanted

    def _wanted(self, name: TargetName) -> WantedReport | None:
        """What is to be said of a target now; None: nobody can say."""
        judgement = self._judge.judge(name)
        self._deadlines.pop(name, None)
        self._note_deadline(name, judgement.changes)
        if judgement.unseen is not None:
            self._unseen.add(judgement.unseen)
        return judgement.wanted

    def _problem(self, check: CheckReference) -> CheckProblem | None:
        return self._told[check].context.problem if check in self._told else None

    def _note_deadline(self, name: TargetName, deadline: datetime | None) -> None:
        known = self._deadlines.get(name)
        if deadline is None or (known is not None and known <= deadline):
            return
        self._deadlines[name] = deadline
        if self._first is None or deadline < self._first:
            self._rescheduled.set()

    async def _follow_time(self) -> None:
        """Consider targets again whose deadline has passed, and checks that could not be judged by."""
        loop = asyncio.get_running_loop()
        looked = loop.time()
        while True:
            await self._wait_for_a_deadline()
            now = self._now()
            for name in [one for one, deadline in self._deadlines.items() if deadline + JUST_AFTER <= now]:
                self._consider(name)
            if loop.time() - looked >= LOOK_AGAIN.total_seconds():
                looked, unseen = loop.time(), tuple(self._unseen)
                self._unseen.clear()
                for check in unseen:
                    self._consider_all(check)

    async def _wait_for_a_deadline(self) -> None:
        """Return when one has passed, another one comes, or it is time to look again."""
        self._rescheduled.clear()
        first = self._first = min(self._deadlines.values(), default=None)
        wait = LOOK_AGAIN if first is None else min(LOOK_AGAIN, first + 2 * JUST_AFTER - self._now())
        try:
            async with asyncio.timeout(max(0.0, wait.total_seconds())):
                await self._rescheduled.wait()
        except TimeoutError:
            return

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
            await asyncio.sleep(0)  # where nothing was to be written, nothing was awaited

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
            if isinstance(error, NotFound):  # gone, or what is remembered of its kind is old
                self._forget_versions(due.kind)
            self._failed(name, error)
        else:
            self._pauses.pop(name, None)

    def _forget_versions(self, kind: ServedKind) -> None:
        for api_version in kind.api_versions:
            self._connection.discovery.forget(api_version)

    def _failed(self, name: TargetName, error: KubernetesError) -> None:
        level = logging.DEBUG if isinstance(error, Conflict | NotFound) else logging.WARNING
        _log.log(level, "report on a target not written", extra={"target": name, "reason": error.message})
        known = self._pauses.get(name)
        failures = 1 if known is None else known.failures + 1
        ends = self._now() + max(retry_after(error), RETRIES.limit(failures))
        self._pauses[name] = _Pause(failures, ends)
        self._note_deadline(name, ends)

    def _status_patch(self, name: TargetName, found: Object) -> dict[str, Any]:
        """What is to be written into a target as it is: what is to be said of it at this moment."""
        wanted = self._wanted(name)
        if wanted is None or wanted.target.metadata.uid != found["metadata"]["uid"]:
            return {}
        return wanted.reports.patch(wanted.report, found, self._now())
