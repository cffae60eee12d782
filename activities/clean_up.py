"""clean_up: delete the requests of an incident, and release the Lease of the target when they are gone.

The activity reads each request first, and deletes it as it was read if it is the incident's own
(`own_requests`). A request that changes owner meanwhile, or was recreated under the same name, is kept. If
the detector sees a request of another owner as the check's, the deletion is a failure, so that people learn
of it. Otherwise the request has changed owner, and the incident forgets it.

Each request is deleted separately: a failure stops no other. The Lease is released only when no request is
left: while one exists, kept by a finalizer or after a failed deletion, its remediator may still work. A
person's confirmation of health is removed before the Lease is released (NHC 2.6), but its failure keeps no
Lease. So is a person's order that is over. A worker that may not write to targets leaves the confirmation to
the person.
"""

import asyncio
from functools import partial

from temporalio import activity

from activities.maintenance import TaskAttempt
from activities.own_requests import NotOwn, OwnRequests
from activities.registry import KIND_ACTIVITIES
from activities.target_lease import TargetLeases
from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference, RequestReference
from health.model.remediation_order import REMEDIATE, RemediationOrder, order_in
from health.model.task_subject import OF_CONFIRMATION, OF_LEASE, OF_ORDER, TaskSubject
from health.runbook.maintenance import deleting, releasing_lease, removing_confirmation, removing_order
from kube.connection import ClusterConnection
from kube.errors import KindUnknown, NotFound
from kube.resource import Object
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from workflows.contracts import CLEAN_UP, CleanUpInput, CleanUpResult


class OrderRemoval:
    """Removes exactly the finished order of the incident: a later order on the target stays."""

    def __init__(self, management: ClusterConnection) -> None:
        self._management = management

    async def remove(self, order: RemediationOrder, incident: IncidentReference) -> None:
        """Remove the annotation. It is no failure if the order or the target is gone.

        Raises:
            KubernetesError: it was not removed, or the result is unknown.

        """
        kind, target = CHECK_KINDS.get(incident.check.group_kind), incident.target
        if kind is None or order.check != str(incident.check):
            return
        resource = await self._management.discovery.first_served(kind.targets)
        identity = ObjectIdentity(resource, target.namespace, target.name, target.uid)
        try:
            await patch_as_read(self._management.client, identity, partial(_without, order))
        except KindUnknown:
            raise
        except NotFound:
            return


def _without(order: RemediationOrder, found: Object) -> Object:
    annotations = found["metadata"].get("annotations") or {}
    if order_in(annotations.get(REMEDIATE, "")) != order:
        return {}
    return {"metadata": {"annotations": {REMEDIATE: None}}}


class CleanUp:
    """The activity `clean_up`, which also releases Leases."""

    def __init__(
        self,
        management: ClusterConnection,
        requests: OwnRequests,
        leases: TargetLeases,
        *,
        removes_confirmations: bool = True,
    ) -> None:
        self._client = management.client
        self._orders = OrderRemoval(management)
        self._removes_confirmations = removes_confirmations
        self._requests = requests
        self._leases = leases

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, clean_up: CleanUpInput) -> CleanUpResult:
        """Delete the requests of the incident; return what remains, and why."""
        attempt = TaskAttempt(CLEAN_UP)
        gone = await asyncio.gather(
            *(self._delete(request, clean_up, attempt) for request in clean_up.requests)
        )
        hanging = tuple(one for one, is_gone in zip(clean_up.requests, gone, strict=True) if is_gone is False)
        if hanging or attempt.failures:
            return CleanUpResult(remaining=hanging, failures=attempt.failures, has_lease=True)
        await self._remove_confirmation(clean_up, attempt)
        await self._remove_order(clean_up, attempt)
        has_lease = await self._give_back(clean_up, attempt) is None
        return CleanUpResult(failures=attempt.failures, has_lease=has_lease)

    async def _delete(
        self, request: RequestReference, clean_up: CleanUpInput, attempt: TaskAttempt
    ) -> bool | None:
        """True once it is gone, False while a finalizer keeps it; None: the deletion failed."""
        subject = TaskSubject.of_request(request.uid)
        return await attempt.item(subject, deleting(request), self._is_gone(request, clean_up))

    async def _is_gone(self, request: RequestReference, clean_up: CleanUpInput) -> bool:
        deleted = await self._deleted(request, clean_up)
        return deleted is None or not deleted.get("metadata", {}).get("finalizers")

    async def _deleted(self, request: RequestReference, clean_up: CleanUpInput) -> Object | None:
        """The request that remains; None: it is gone, or has another owner now (NHC 2.8)."""
        try:
            return await self._requests.delete(request, clean_up.incident)
        except NotOwn:
            if request.uid in clean_up.doubtful:
                return None
            raise

    async def _give_back(self, clean_up: CleanUpInput, attempt: TaskAttempt) -> bool | None:
        """True once the Lease is released; None: that failed."""

        async def release() -> bool:
            await self._leases.release(clean_up.incident, with_lock=clean_up.is_of_control_plane)
            return True

        return await attempt.item(OF_LEASE, releasing_lease(clean_up.incident.target), release())

    async def _remove_confirmation(self, clean_up: CleanUpInput, attempt: TaskAttempt) -> None:
        kind = KIND_ACTIVITIES.get(clean_up.incident.check.group_kind)
        if not (clean_up.is_confirmed and self._removes_confirmations):
            return
        if kind is not None and kind.remove_confirmation is not None:
            target = clean_up.incident.target
            removal = kind.remove_confirmation(self._client, target)
            await attempt.item(OF_CONFIRMATION, removing_confirmation(target), removal)

    async def _remove_order(self, clean_up: CleanUpInput, attempt: TaskAttempt) -> None:
        if clean_up.order is not None:
            removal = self._orders.remove(clean_up.order, clean_up.incident)
            await attempt.item(OF_ORDER, removing_order(clean_up.incident.target), removal)
