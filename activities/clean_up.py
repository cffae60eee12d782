"""clean_up: delete the requests of an incident, and give the Lease of the target back when they are gone.

Deletes carry the uid, so a request that somebody made anew under the same name is left alone. A Lease is
given back only when no request is left: while one hangs on a finalizer, its remediator may still be at work.
"""

from temporalio import activity

from health.references import RequestReference
from health.remediation_request import holder_of
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import Conflict, NotFound
from kube.node_lease import NodeLeases
from workflows.contracts import CLEAN_UP, CleanUpInput, CleanUpResult


class CleanUp:
    """The activity `clean_up`."""

    def __init__(self, client: Client, discovery: Discovery, leases: NodeLeases) -> None:
        self._client = client
        self._discovery = discovery
        self._leases = leases

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, asked: CleanUpInput) -> CleanUpResult:
        """Delete what the incident made; answer what a finalizer keeps."""
        remaining = tuple([request for request in asked.requests if not await self._is_gone(request)])
        if not remaining:
            target = asked.incident.target
            await self._leases.release(target.name, target.uid, holder_of(asked.incident.check))
        return CleanUpResult(remaining=remaining)

    async def _is_gone(self, request: RequestReference) -> bool:
        try:
            resource = await self._discovery.resource(request.api_version, request.kind)
            answer = await self._client.delete(resource, request.name, request.namespace, uid=request.uid)
        except (NotFound, Conflict):  # gone; or gone and made anew by somebody, under another uid
            return True
        return not answer.get("metadata", {}).get("finalizers")
