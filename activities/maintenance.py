"""Maintenance tasks: the activities for annotations, Leases, and the clean-up of an incident.

Each part is done separately (`attempt`); failures are returned to the incident, which tries them again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

from temporalio import activity

from activities.attempt import Attempt, AttemptFailure
from activities.registry import KIND_ACTIVITIES
from activities.requests import NotOwn, OwnRequests
from activities.target_lease import TargetLeases
from health.kinds.registry import CHECK_KINDS
from health.model.moves import AnnotationPatch
from health.model.references import IncidentReference, RequestReference
from health.model.remediation_order import REMEDIATE, RemediationOrder, order_in
from health.model.task_subject import OF_CONFIRMATION, OF_LEASE, OF_ORDER, TaskSubject
from health.runbook.failures import (
    TaskFailure,
    deleting,
    releasing_lease,
    removing_confirmation,
    removing_order,
    renewing_lease,
)
from kube.errors import RequestRefused, none_if_absent, retry_after
from kube.resource import Object
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from workflows.contracts import (
    ANNOTATE,
    CLEAN_UP,
    RENEW,
    AnnotateInput,
    AnnotateResult,
    CleanUpInput,
    CleanUpResult,
    RenewInput,
    RenewResult,
)
from workflows.kit import Contract

Result = TypeVar("Result")


class TaskAttempt:
    """The parts of one attempt, and the failures so far."""

    def __init__(self, contract: Contract) -> None:
        self._attempt = Attempt(contract)
        self._failures: list[TaskFailure] = []

    @property
    def failures(self) -> tuple[TaskFailure, ...]:
        return tuple(self._failures)

    async def item(self, subject: TaskSubject, action: str, doing: Awaitable[Result]) -> Result | None:
        """The result of `doing`; None: it failed, which is recorded as `action` about `subject`."""
        tried = await self._attempt.tried(action, doing)
        if not isinstance(tried, AttemptFailure):
            return tried
        self._failures.append(
            TaskFailure(
                subject=subject,
                what=action,
                why=tried.why,
                is_refused=isinstance(tried.error, RequestRefused),
                wait_seconds=retry_after(tried.error).total_seconds() if tried.error else 0.0,
            )
        )
        return None


class Maintenance:
    """The activities `annotate`, `renew` and `clean_up`; one worker has one of it."""

    def __init__(
        self,
        requests: OwnRequests,
        leases: TargetLeases,
        now: Callable[[], datetime],
        *,
        removes_confirmations: bool = True,
    ) -> None:
        """`removes_confirmations`: a worker that may not write to targets leaves them to the person."""
        self._requests = requests
        self._management = requests.management
        self._leases = leases
        self._now = now
        self._removes_confirmations = removes_confirmations

    @activity.defn(name=ANNOTATE.name)
    async def annotate(self, annotation: AnnotateInput) -> AnnotateResult:
        """Write annotations of requests, for remediators and operators; a repetition changes nothing.

        It skips a request that is gone or was recreated; a request of another incident is a failure.
        """
        attempt = TaskAttempt(ANNOTATE)

        async def write(patch: AnnotationPatch) -> None:
            await attempt.item(patch.subject, str(patch), self._requests.annotate(patch, annotation.incident))

        await asyncio.gather(*map(write, annotation.patches))
        return AnnotateResult(failures=attempt.failures)

    @activity.defn(name=RENEW.name)
    async def renew(self, renewal: RenewInput) -> RenewResult:
        """Renew the target's Lease and the control-plane lock, while a remediator works.

        A missing or foreign Lease is left unchanged (NHC 2.5).
        """
        attempt, duration = TaskAttempt(RENEW), timedelta(seconds=renewal.duration_seconds)
        keeping = self._leases.keep(renewal.incident, duration, self._now())
        held = await attempt.item(OF_LEASE, renewing_lease(renewal.incident.target), keeping)
        return RenewResult(acquired_at=held.acquired if held else None, failures=attempt.failures)

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, clean_up: CleanUpInput) -> CleanUpResult:
        """Delete the requests of an incident, then release the Lease; return what remains, and why.

        Each request is deleted as it was read, and separately: a failure stops no other. The Lease is
        released only when no request is left: while one exists, kept by a finalizer or after a failed
        deletion, its remediator may still work. A person's confirmation of health, and a person's order that
        is over, are removed before that (NHC 2.6), but their failure keeps no Lease.
        """
        attempt, incident = TaskAttempt(CLEAN_UP), clean_up.incident

        async def delete(request: RequestReference) -> bool | None:
            """True once it is gone, False while a finalizer keeps it; None: the deletion failed."""
            subject = TaskSubject.of_request(request.uid)
            return await attempt.item(subject, deleting(request), self._is_gone(request, clean_up))

        gone = await asyncio.gather(*map(delete, clean_up.requests))
        hanging = tuple(
            request for request, is_gone in zip(clean_up.requests, gone, strict=True) if is_gone is False
        )
        if hanging or attempt.failures:
            return CleanUpResult(remaining=hanging, failures=attempt.failures, has_lease=True)
        # The confirmation and the order of a person, which are over.
        kind = KIND_ACTIVITIES.get(incident.check.group_kind)
        if clean_up.is_confirmed and self._removes_confirmations and kind is not None:
            removal = kind.remove_confirmation(self._management.client, incident.target)
            await attempt.item(OF_CONFIRMATION, removing_confirmation(incident.target), removal)
        if clean_up.order is not None:
            removal = self._remove_order(clean_up.order, incident)
            await attempt.item(OF_ORDER, removing_order(incident.target), removal)

        # The Lease, which lets others act on the target.
        async def release() -> bool:
            await self._leases.release(incident, self._now() if clean_up.is_gone else None)
            return True

        is_released = await attempt.item(OF_LEASE, releasing_lease(incident.target), release())
        return CleanUpResult(failures=attempt.failures, has_lease=is_released is None)

    async def _is_gone(self, request: RequestReference, clean_up: CleanUpInput) -> bool:
        """Delete the request; False while a finalizer keeps it. It may have another owner now (NHC 2.8).

        If the detector sees a request of another owner as the check's, the deletion is a failure, so that
        people learn of it. Otherwise the request has changed owner, and the incident forgets it.
        """
        try:
            deleted = await self._requests.delete(request, clean_up.incident)
        except NotOwn:
            if request.uid not in clean_up.doubtful:
                raise
            return True
        return deleted is None or not deleted.get("metadata", {}).get("finalizers")

    async def _remove_order(self, order: RemediationOrder, incident: IncidentReference) -> None:
        """Remove exactly the finished order of the incident: a later order on the target stays.

        It is no failure if the order or the target is gone.
        """

        def without(found: Object) -> Object:
            annotations = found["metadata"].get("annotations") or {}
            is_this_one = order_in(annotations.get(REMEDIATE, "")) == order
            return {"metadata": {"annotations": {REMEDIATE: None}}} if is_this_one else {}

        kind, target = CHECK_KINDS.get(incident.check.group_kind), incident.target
        if kind is None or order.check != str(incident.check):
            return
        resource = await self._management.discovery.first_served(kind.targets)
        identity = ObjectIdentity(resource, target.namespace, target.name, target.uid)
        await none_if_absent(patch_as_read(self._management.client, identity, without))
