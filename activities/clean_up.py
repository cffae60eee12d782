"""clean_up: delete the requests of an incident, and give the Lease of the target back when they are gone.

Every delete carries the uid, so a request that somebody made anew under the same name is left alone. It
withdraws what is ours and disrupts no target, so rule 2 asks for no read before it, and the uid is
enough where the detector has just seen the check own the request: its remediator writes into it all the
time, which would make a conflict of every version that was seen earlier. Where the detector does not see it
as the check's, it is read first, and the delete carries the version that was read: a request that changes
hands meanwhile is kept.

Each request goes by itself: one that fails keeps no other. The Lease is given back only when no request is
left: while one is there, hanging on a finalizer or because it could not be deleted, its remediator may still
be at work. A person's confirmation that the target is healthy goes before the Lease (NHC 2.6), but a
failure of that keeps no Lease. A worker that may not write to targets leaves it to the person.
"""

import asyncio

from temporalio import activity

from activities.chores import ChoreAttempt
from activities.known_requests import is_own
from activities.live_requests import LiveRequests
from activities.registry import KIND_ACTIVITIES
from activities.target_lease import TargetLeases
from health.model.chore_subject import OF_CONFIRMATION, OF_LEASE, ChoreSubject
from health.model.references import IncidentReference, RequestReference
from health.model.remediation_request import RemediationRequest
from health.runbook.chores import deleting, releasing_lease, removing_confirmation
from kube.client import Client
from kube.resource import Object
from kube.retry_on_conflict import retry_on_conflict
from workflows.contracts import CLEAN_UP, CleanUpInput, CleanUpResult

READS = 3
"""How often a request that changes under us is read before all is tried again later."""


class CleanUp:
    """The activity `clean_up`."""

    def __init__(
        self, client: Client, live: LiveRequests, leases: TargetLeases, *, removes_confirmations: bool = True
    ) -> None:
        self._client = client
        self._removes_confirmations = removes_confirmations
        self._live = live
        self._leases = leases

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, asked: CleanUpInput) -> CleanUpResult:
        """Delete what the incident made; answer what remains, and why."""
        attempt = ChoreAttempt(CLEAN_UP)
        gone = await asyncio.gather(*(self._delete(one, asked, attempt) for one in asked.requests))
        hanging = tuple(one for one, is_gone in zip(asked.requests, gone, strict=True) if is_gone is False)
        if hanging or attempt.failures:
            return CleanUpResult(remaining=hanging, failures=attempt.failures, has_lease=True)
        await self._remove_confirmation(asked, attempt)
        has_lease = await self._give_back(asked, attempt) is None
        return CleanUpResult(failures=attempt.failures, has_lease=has_lease)

    async def _delete(
        self, request: RequestReference, asked: CleanUpInput, attempt: ChoreAttempt
    ) -> bool | None:
        """Answers whether it is gone; None: it could not be deleted."""
        subject = ChoreSubject.of_request(request.uid)
        return await attempt.item(subject, deleting(request), self._is_gone(request, asked))

    async def _is_gone(self, request: RequestReference, asked: CleanUpInput) -> bool:
        if request.uid in asked.doubtful:
            deleted = await self._delete_if_owned(request, asked.incident)
        else:
            deleted = await self._live.delete(request)
        return deleted is None or not deleted.get("metadata", {}).get("finalizers")

    async def _delete_if_owned(self, request: RequestReference, incident: IncidentReference) -> Object | None:
        """Delete one that may be another's by now; None: it is, or it is gone (NHC 2.8).

        Raises Conflict: it changed again and again.
        """
        return await retry_on_conflict(lambda: self._delete_as_read(request, incident), READS)

    async def _delete_as_read(self, request: RequestReference, incident: IncidentReference) -> Object | None:
        found = await self._live.find(request)
        if found is None or not _is_owned(found, incident):
            return None
        return await self._live.delete(request, found["metadata"]["resourceVersion"])

    async def _give_back(self, asked: CleanUpInput, attempt: ChoreAttempt) -> bool | None:
        """Answers None where the Lease could not be given back."""

        async def release() -> bool:
            await self._leases.release(asked.incident, with_lock=asked.is_of_control_plane)
            return True

        return await attempt.item(OF_LEASE, releasing_lease(asked.incident.target), release())

    async def _remove_confirmation(self, asked: CleanUpInput, attempt: ChoreAttempt) -> None:
        kind = KIND_ACTIVITIES.get(asked.incident.check.group_kind)
        if not (asked.is_confirmed and self._removes_confirmations):
            return
        if kind is not None and kind.remove_confirmation is not None:
            target = asked.incident.target
            removal = kind.remove_confirmation(self._client, target)
            await attempt.item(OF_CONFIRMATION, removing_confirmation(target), removal)


def _is_owned(request: Object, incident: IncidentReference) -> bool:
    # By its metadata alone: what else of it does not parse may be why the detector does not see it.
    metadata = {"metadata": request["metadata"]}
    return is_own(RemediationRequest.model_validate(metadata), incident)
