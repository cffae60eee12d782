"""LiveRequests: a remembered remediation request, where the API server has it now.

A 404 can mean that the request is gone, or that only the version of its kind is: the API server names the
object that it misses, and none where it misses the kind (kube/status.py). Then discovery is asked anew, and
the request is looked for in the version that is served. Gone is what the API server does not find where its
kind is served, what has another uid, and what is of a kind that no version serves. What cannot be looked at
is not gone.
"""

from collections.abc import Awaitable, Callable, Mapping

from health.model.references import RequestReference
from kube.connection import ClusterConnection
from kube.errors import KindUnknown, NotFound, Unreachable
from kube.resource import Object, Resource

_Question = Callable[[Resource], Awaitable[Object]]


class LiveRequests:
    """Finds requests by uid, and deletes and annotates them as they were read. No method raises NotFound."""

    def __init__(self, connection: ClusterConnection) -> None:
        self._client = connection.client
        self._discovery = connection.discovery

    async def find(self, reference: RequestReference) -> Object | None:
        """The request; None: it is gone.

        Raises:
            KubernetesError: that is not certain.

        """

        async def get(resource: Resource) -> Object:
            return await self._client.get(resource, reference.name, reference.namespace)

        found = await self._ask(reference, get)
        return found if found is not None and found["metadata"]["uid"] == reference.uid else None

    async def delete(self, reference: RequestReference, resource_version: str) -> Object | None:
        """What the API server answers to its deletion; None: it is gone.

        Raises:
            Conflict: it is not as it was at `resource_version`, or not the same: look again.
            KubernetesError: it was not deleted, or nobody knows.

        """

        async def delete(resource: Resource) -> Object:
            return await self._client.delete(
                resource,
                reference.name,
                reference.namespace,
                uid=reference.uid,
                resource_version=resource_version,
            )

        return await self._ask(reference, delete)

    async def annotate(
        self, reference: RequestReference, annotations: Mapping[str, str | None], resource_version: str
    ) -> Object | None:
        """The request with these annotations, without those that are None; None: it is gone.

        Raises:
            Conflict: it is not as it was at `resource_version`, or not the same: look again.
            KubernetesError: it was not written, or nobody knows.

        """
        identity = {"uid": reference.uid, "resourceVersion": resource_version}
        patch: Object = {"metadata": {**identity, "annotations": dict(annotations)}}

        async def merge(resource: Resource) -> Object:
            return await self._client.merge_patch(resource, reference.name, patch, reference.namespace)

        return await self._ask(reference, merge)

    async def _ask(self, reference: RequestReference, question: _Question) -> Object | None:
        """The answer from where the kind is served; None: the API server knows no such object."""
        try:
            remembered = await self._discovery.resource(reference.api_version, reference.kind)
            return await question(remembered)
        except KindUnknown:
            served = await self._discovery.served_now(reference.api_version, reference.kind)
        except NotFound:
            return None
        return None if served is None else await _ask_there(served, question)


async def _ask_there(served: Resource, question: _Question) -> Object | None:
    try:
        return await question(served)
    except KindUnknown as error:
        raise Unreachable(f"{served.full_name} was served, but {error.message}", path=error.path) from error
    except NotFound:
        return None
