"""clean_up: delete the requests of an incident, and give the Lease of the target back when they are gone.

Deletes carry the uid, so a request that somebody made anew under the same name is left alone. A Lease is
given back only when no request is left: while one hangs on a finalizer, its remediator may still be at work.
A person's mark that the node is healthy goes before the Lease (semantics 2.6).
"""

from temporalio import activity

from activities.target_lease import TargetLeases
from health.kinds import CHECK_KINDS
from health.node import CONFIRMED_HEALTHY
from health.references import RequestReference, TargetReference
from health.remediation_request import RemediationRequest
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import Conflict, Forbidden, Invalid, NotFound
from kube.resource import NODES, Resource
from workflows.contracts import CLEAN_UP, CleanUpInput, CleanUpResult


class CleanUp:
    """The activity `clean_up`."""

    def __init__(self, client: Client, discovery: Discovery, leases: TargetLeases) -> None:
        self._client = client
        self._discovery = discovery
        self._leases = leases

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, asked: CleanUpInput) -> CleanUpResult:
        """Delete what the incident made; answer what a finalizer keeps."""
        remaining = tuple([request for request in asked.requests if not await self._is_gone(request, asked)])
        if not remaining:
            if asked.is_confirmed:
                await self._take_off_mark(asked.incident.target)
            await self._leases.give_back(asked.incident, with_turn=asked.is_of_control_plane)
        return CleanUpResult(remaining=remaining)

    async def _is_gone(self, request: RequestReference, asked: CleanUpInput) -> bool:
        try:
            resource = await self._discovery.resource(request.api_version, request.kind)
            if request.uid in asked.doubtful and not await self._is_ours(resource, request, asked):
                return True
            answer = await self._client.delete(resource, request.name, request.namespace, uid=request.uid)
        except (NotFound, Conflict):  # gone; or gone and made anew by somebody, under another uid
            return True
        return not answer.get("metadata", {}).get("finalizers")

    async def _is_ours(self, resource: Resource, request: RequestReference, asked: CleanUpInput) -> bool:
        """Whether the check still owns the request (semantics 2.8)."""
        found = await self._client.get(resource, request.name, request.namespace)
        check = CHECK_KINDS[asked.incident.check.kind]
        owner = RemediationRequest.model_validate(found).owner(check.kind, check.api_version)
        return owner == asked.incident.check.name

    async def _take_off_mark(self, node: TargetReference) -> None:
        """Remove the annotation of this very node."""
        patch = {"metadata": {"uid": node.uid, "annotations": {CONFIRMED_HEALTHY: None}}}
        try:
            await self._client.merge_patch(NODES, node.name, patch)
        except (NotFound, Conflict):
            return
        except (Forbidden, Invalid) as error:  # Invalid is also the answer to another uid
            activity.logger.warning("the node stays marked", extra={"reason": error.message})
