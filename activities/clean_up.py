"""clean_up: delete the requests of an incident, and give the Lease of the target back when they are gone.

Every delete carries the uid, so a request that somebody made anew under the same name is left alone. It
withdraws what is ours and disrupts no target, so decision 2 asks for no read before it, and the uid is
enough where the detector has just seen the check own the request: its remediator writes into it all the
time, which would make a conflict of every version that was seen earlier. Where the detector does not see it
as the check's, it is read first, and the delete carries the version that was read: a request that changes
hands meanwhile is kept.

A Lease is given back only when no request is left: while one hangs on a finalizer, its remediator may still
be at work. A person's mark that the node is healthy goes before the Lease (semantics 2.6).
"""

from contextlib import suppress

from temporalio import activity

from activities.asking_again import no_earlier_than_told
from activities.holder import is_own
from activities.target_lease import TargetLeases
from health.node import CONFIRMED_HEALTHY
from health.references import IncidentReference, RequestReference, TargetReference
from health.remediation_request import RemediationRequest
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import Conflict, Forbidden, Invalid, NotFound
from kube.resource import NODES, Object, Resource
from workflows.contracts import CLEAN_UP, CleanUpInput, CleanUpResult

READS = 3
"""How often a request that changes under us is read before all is tried again later."""


class CleanUp:
    """The activity `clean_up`."""

    def __init__(self, client: Client, discovery: Discovery, leases: TargetLeases) -> None:
        self._client = client
        self._discovery = discovery
        self._leases = leases

    @activity.defn(name=CLEAN_UP.name)
    @no_earlier_than_told
    async def clean_up(self, asked: CleanUpInput) -> CleanUpResult:
        """Delete what the incident made; answer what a finalizer keeps."""
        remaining = tuple([request for request in asked.requests if not await self._is_gone(request, asked)])
        if not remaining:
            if asked.is_confirmed and asked.incident.target.kind == NODES.kind:
                await self._take_off_mark(asked.incident.target)
            await self._leases.give_back(asked.incident, with_turn=asked.is_of_control_plane)
        return CleanUpResult(remaining=remaining)

    async def _is_gone(self, request: RequestReference, asked: CleanUpInput) -> bool:
        try:
            resource = await self._discovery.resource(request.api_version, request.kind)
            if request.uid in asked.doubtful:
                deleted = await self._delete_if_owned(resource, request, asked.incident)
            else:
                deleted = await self._delete(resource, request)
        except NotFound:
            return True
        return deleted is None or not deleted.get("metadata", {}).get("finalizers")

    async def _delete(self, resource: Resource, request: RequestReference) -> Object | None:
        """What the API server answers; None: it is gone, and somebody made another one."""
        try:
            return await self._client.delete(resource, request.name, request.namespace, uid=request.uid)
        except Conflict:
            return None

    async def _delete_if_owned(
        self, resource: Resource, request: RequestReference, incident: IncidentReference
    ) -> Object | None:
        """The same of a request that may be another's by now; None also if it is (semantics 2.8).

        Raises Conflict: it changed again and again.
        """
        for _ in range(READS - 1):
            with suppress(Conflict):
                return await self._delete_as_read(resource, request, incident)
        return await self._delete_as_read(resource, request, incident)

    async def _delete_as_read(
        self, resource: Resource, request: RequestReference, incident: IncidentReference
    ) -> Object | None:
        found = await self._client.get(resource, request.name, request.namespace)
        if found["metadata"]["uid"] != request.uid or not _is_owned(found, incident):
            return None
        version = found["metadata"]["resourceVersion"]
        return await self._client.delete(
            resource, request.name, request.namespace, uid=request.uid, resource_version=version
        )

    async def _take_off_mark(self, node: TargetReference) -> None:
        """Remove the annotation of this very node."""
        patch = {"metadata": {"uid": node.uid, "annotations": {CONFIRMED_HEALTHY: None}}}
        try:
            await self._client.merge_patch(NODES, node.name, patch)
        except (NotFound, Conflict):
            return
        except (Forbidden, Invalid) as error:  # Invalid is also the answer to another uid
            activity.logger.warning("the node stays marked", extra={"reason": error.message})


def _is_owned(request: Object, incident: IncidentReference) -> bool:
    # By its metadata alone: what else of it does not parse may be why the detector does not see it.
    metadata = {"metadata": request["metadata"]}
    return is_own(RemediationRequest.model_validate(metadata), incident)
