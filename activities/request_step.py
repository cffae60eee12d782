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
from activities.lease_guard import LeaseGuard
from activities.outcome import StepResult
from activities.revalidation import Revalidation
from health.model.remediation_request import RemediationRequest
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import AlreadyExists, KindUnknown, KubernetesError
from kube.resource import Object, Resource
from workflows.contracts import ActInput, ActResult


class RequestStep:
    """What Action.REQUEST does."""

    def __init__(
        self, client: Client, discovery: Discovery, revalidation: Revalidation, lease_guard: LeaseGuard
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._revalidation = revalidation
        self._lease_guard = lease_guard
        self._drafts = Drafts(revalidation.live)
        self._etcd = Etcd(client, discovery)

    async def take(self, asked: ActInput) -> StepResult:
        """Make it, unless it is there by now.

        Raises:
            Held: nothing was done.
            KubernetesError: the API server could not be asked, or refused.

        """
        began = self._lease_guard.begin()
        confirmed, template = await asyncio.gather(
            self._revalidation.confirm(asked), self._drafts.template(asked.step.template)
        )
        target = confirmed.target
        if target.is_control_plane and not asked.is_under_way:
            await self._etcd.refuse_loss(target.metadata.name)
        body = await self._drafts.request(asked, confirmed, template)
        resource = await self._served(body["apiVersion"], body["kind"])
        async with self._lease_guard.lease(asked, target, began) as acquired:
            request = await self._create(resource, body, asked)
        snapshot = request.snapshot(resource.api_version, resource.kind)
        return StepResult(ActResult(request=snapshot, lease_acquired_at=acquired))

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
