"""RequestStep: makes the remediation request of one step.

Names are deterministic, so an attempt that is made again meets its own request. A create has no
precondition: a target that recovers between the look and the create gets a request that the incident removes
within seconds.
"""

import asyncio

from activities.draft import Drafts
from activities.etcd import Etcd
from activities.held import Held, not_created
from activities.holder import objection
from activities.outcome import Outcome
from activities.still_true import SecondLook
from activities.taking import Taking
from health.model.remediation_request import RemediationRequest
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import AlreadyExists, KindUnknown, KubernetesError
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
        """Make it, unless it is there by now.

        Raises:
            Held: nothing was done.
            KubernetesError: the API server could not be asked, or refused.

        """
        began = self._taking.begin()
        confirmed, template = await asyncio.gather(
            self._second_look.confirm(asked), self._drafts.template(asked.step.template)
        )
        target = confirmed.target
        if target.is_control_plane and not asked.is_under_way:
            await self._etcd.refuse_loss(target.metadata.name)
        body = await self._drafts.request(asked, confirmed, template)
        resource = await self._served(body["apiVersion"], body["kind"])
        async with self._taking.lease(asked, target, began) as acquired:
            request = await self._create(resource, body, asked)
        sight = request.sight(resource.api_version, resource.kind)
        return Outcome(ActResult(request=sight, lease_acquired_at=acquired))

    async def _served(self, api_version: str, kind: str) -> Resource:
        try:
            return await self._discovery.resource(api_version, kind)
        except KindUnknown as error:
            raise not_created(error) from error

    async def _create(self, resource: Resource, body: Object, asked: ActInput) -> RemediationRequest:
        namespace = body["metadata"]["namespace"]
        try:
            return RemediationRequest.model_validate(await self._client.create(resource, body, namespace))
        except AlreadyExists:
            found = await self._client.get(resource, body["metadata"]["name"], namespace)
        except KubernetesError as error:
            if isinstance(error, KindUnknown):  # what is remembered of it is old
                self._discovery.forget(resource.api_version)
            raise not_created(error) from error
        existing = RemediationRequest.model_validate(found)
        hold = objection(existing, asked.incident, asked.step.template)
        if hold is not None:
            raise Held(hold)
        return existing
