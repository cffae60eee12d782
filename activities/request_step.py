"""RequestStep: makes the remediation request of one step.

Names are deterministic, so an attempt that is made again meets its own request. A create has no
precondition: a target that recovers between the look and the create gets a request that the incident removes
within seconds.
"""

import asyncio

from activities.draft import Drafts
from activities.etcd import Etcd
from activities.held import Held
from activities.holder import objection
from activities.outcome import Outcome
from activities.still_true import SecondLook
from activities.taking import Taking
from health.references import RequestReference
from health.remediation_request import RemediationRequest
from health.request_sight import RequestSight
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import AlreadyExists, NotFound
from kube.resource import Object, Resource
from workflows.contracts import ActInput, ActResult


class RequestStep:
    """What Action.REQUEST does."""

    def __init__(self, client: Client, discovery: Discovery, second_look: SecondLook, taking: Taking) -> None:
        self._client = client
        self._discovery = discovery
        self._second_look = second_look
        self._taking = taking
        self._drafts = Drafts(client, discovery, second_look.shared)
        self._etcd = Etcd(client, discovery)

    async def take(self, asked: ActInput) -> Outcome:
        """The request that the incident made before, if that is there; else a new one.

        Raises:
            Held: nothing was done.
            KubernetesError: the API server could not be asked, or refused.

        """
        for known in asked.known:
            found = await self._still_there(known)
            if found is not None:
                return Outcome(ActResult(request=found))
        if asked.known:
            return Outcome(ActResult(is_lost=True))
        return await self._request(asked)

    async def _still_there(self, known: RequestReference) -> RequestSight | None:
        """A request that the incident made before and the detector does not see: never make a second."""
        try:
            resource = await self._discovery.resource(known.api_version, known.kind)
            found = await self._client.get(resource, known.name, known.namespace)
        except NotFound:
            return None
        if found["metadata"]["uid"] != known.uid:
            return None
        return RemediationRequest.model_validate(found).sight(known.api_version, known.kind)

    async def _request(self, asked: ActInput) -> Outcome:
        began = self._taking.begin()
        confirmed, template = await asyncio.gather(
            self._second_look.confirm(asked), self._drafts.template(asked.step.template)
        )
        target = confirmed.target
        if target.is_control_plane and not asked.is_under_way:
            await self._etcd.refuse_loss(target.metadata.name)
        body = await self._drafts.request(asked, confirmed, template)
        resource = await self._discovery.resource(body["apiVersion"], body["kind"])
        async with self._taking.lease(asked, target, began) as acquired:
            request = await self._create(resource, body, asked)
        sight = request.sight(resource.api_version, resource.kind)
        return Outcome(ActResult(request=sight, lease_acquired_at=acquired))

    async def _create(self, resource: Resource, body: Object, asked: ActInput) -> RemediationRequest:
        namespace = body["metadata"]["namespace"]
        try:
            return RemediationRequest.model_validate(await self._client.create(resource, body, namespace))
        except AlreadyExists:
            found = await self._client.get(resource, body["metadata"]["name"], namespace)
        existing = RemediationRequest.model_validate(found)
        hold = objection(existing, asked.incident, asked.step.template)
        if hold is not None:
            raise Held(hold)
        return existing
