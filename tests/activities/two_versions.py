"""A kind of request in two versions of its group, each of which can stop being served."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from health.model.references import RequestReference
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import KindUnknown, KubernetesError, NotFound
from kube.resource import Object, Resource
from kube.transport import Transport

OLD, NEW = "v1beta1", "v1beta2"
NAMESPACE = "default"
_SOON = timedelta(seconds=20)


class TwoVersions:
    """A kind with unique names, so that no test sees the objects of another test."""

    def __init__(self, transport: Transport) -> None:
        self._client = Client(transport)
        self._discovery = Discovery(transport)
        self.group = f"g{uuid.uuid4().hex[:8]}.paramedic.test"
        self.old = Resource(f"{self.group}/{OLD}", "Reset", "resets", namespaced=True)
        self.new = Resource(f"{self.group}/{NEW}", "Reset", "resets", namespaced=True)
        self._name = f"resets.{self.group}"

    async def install(self) -> None:
        await self._client.create(DEFINITIONS, self._definition())
        await self._until(self.old, is_served=True)
        await self._until(self.new, is_served=True)

    async def stop_serving_old(self) -> None:
        patch = {"spec": {"versions": _versions(NEW)}}
        await self._client.merge_patch(DEFINITIONS, self._name, patch)
        await self._until(self.old, is_served=False)

    async def remove(self) -> None:
        """Delete the CRD; a missing CRD is no error."""
        with suppress(NotFound):
            await self._client.delete(DEFINITIONS, self._name)

    async def uninstall(self) -> None:
        """Remove the CRD with all requests, and wait until the API server confirms it."""
        await self.remove()

        async def is_certain() -> bool:
            try:
                return await self._discovery.served_now(self.new.api_version, self.new.kind) is None
            except KubernetesError:  # discovery lists it a moment longer
                return False

        await until(is_certain, within=_SOON, otherwise="the CRD is still served")

    async def make_request(self, name: str = "node-1", owner: Object | None = None) -> RequestReference:
        """A request that the incident remembers in the old version."""
        body: Object = {
            "apiVersion": self.old.api_version,
            "kind": self.old.kind,
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "ownerReferences": [owner] if owner else [],
            },
        }
        created = await self._client.create(self.old, body, NAMESPACE)
        return RequestReference(
            api_version=self.old.api_version,
            kind=self.old.kind,
            namespace=NAMESPACE,
            name=name,
            uid=created["metadata"]["uid"],
        )

    async def requests(self) -> list[Object]:
        return await self._client.list(self.new, NAMESPACE)

    async def delete(self, reference: RequestReference) -> None:
        await self._client.delete(self.new, reference.name, reference.namespace)

    async def _until(self, resource: Resource, *, is_served: bool) -> None:
        async def is_so() -> bool:
            try:
                await self._client.list(resource, NAMESPACE)
            except KindUnknown:
                return not is_served
            except KubernetesError:  # the kind appears or disappears at this moment
                return False
            return is_served

        await until(is_so, within=_SOON, otherwise=f"{resource.full_name}: served is not {is_served}")

    def _definition(self) -> Object:
        return {
            "apiVersion": DEFINITIONS.api_version,
            "kind": DEFINITIONS.kind,
            "metadata": {"name": self._name},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"plural": "resets", "kind": "Reset"},
                "versions": _versions(OLD, NEW),
            },
        }


def _versions(*served: str) -> list[Object]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return [
        {"name": version, "served": version in served, "storage": version == NEW, "schema": schema}
        for version in (OLD, NEW)
    ]


@asynccontextmanager
async def installed(transport: Transport) -> AsyncIterator[TwoVersions]:
    """The kind, for the duration of the block."""
    kind = TwoVersions(transport)
    await kind.install()
    yield kind
    await kind.remove()
