"""Maintenance tasks: the activities for annotations and Leases; clean_up has a file of its own.

Each part is done separately (`attempt`); failures are returned to the incident, which tries them again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

from temporalio import activity

from activities.attempt import Attempt, AttemptFailure
from activities.own_requests import OwnRequests
from activities.target_lease import TargetLeases
from health.model.moves import AnnotationPatch
from health.model.references import IncidentReference
from health.model.task_subject import OF_LEASE, TaskSubject
from health.runbook.maintenance import TaskFailure, renewing_lease
from workflows.contracts import ANNOTATE, RENEW, AnnotateInput, AnnotateResult, RenewInput, RenewResult
from workflows.kit.calls import Contract

Result = TypeVar("Result")


class TaskAttempt:
    """The parts of one attempt, and the failures so far."""

    def __init__(self, contract: Contract) -> None:
        self._attempt = Attempt(contract)
        self._failures: list[TaskFailure] = []

    @property
    def failures(self) -> tuple[TaskFailure, ...]:
        return tuple(self._failures)

    async def item(self, subject: TaskSubject, what: str, doing: Awaitable[Result]) -> Result | None:
        """The result of `doing`; None: it failed, which is recorded as `what` about `subject`."""
        tried = await self._attempt.tried(what, doing)
        if not isinstance(tried, AttemptFailure):
            return tried
        self._failures.append(
            TaskFailure(
                subject=subject,
                what=what,
                why=tried.why,
                is_forbidden=tried.is_forbidden,
                wait_seconds=tried.wait_seconds,
            )
        )
        return None


class Annotate:
    """The activity `annotate`: annotations of requests, for remediators and operators.

    The activity skips a request that is gone or was recreated; a request of another incident is a failure.
    """

    def __init__(self, requests: OwnRequests) -> None:
        self._requests = requests

    @activity.defn(name=ANNOTATE.name)
    async def annotate(self, annotation: AnnotateInput) -> AnnotateResult:
        """Write the annotations; writing an existing one again changes nothing."""
        attempt = TaskAttempt(ANNOTATE)
        await asyncio.gather(
            *(self._write(patch, annotation.incident, attempt) for patch in annotation.patches)
        )
        return AnnotateResult(failures=attempt.failures)

    async def _write(self, patch: AnnotationPatch, incident: IncidentReference, attempt: TaskAttempt) -> None:
        writing = self._requests.annotate(patch, incident)
        await attempt.item(patch.subject, str(patch), writing)


class Renew:
    """The activity `renew`: the target's Lease and the control-plane lock, while a remediator works."""

    def __init__(self, leases: TargetLeases, now: Callable[[], datetime]) -> None:
        self._leases = leases
        self._now = now

    @activity.defn(name=RENEW.name)
    async def renew(self, renewal: RenewInput) -> RenewResult:
        """Renew the Lease if it is ours; a missing or foreign one is left unchanged (NHC 2.5)."""
        attempt, duration = TaskAttempt(RENEW), timedelta(seconds=renewal.duration_seconds)
        keeping = self._leases.keep(
            renewal.incident, duration, self._now(), with_lock=renewal.is_of_control_plane
        )
        held = await attempt.item(OF_LEASE, renewing_lease(renewal.incident.target), keeping)
        return RenewResult(acquired_at=held.acquired if held else None, failures=attempt.failures)
