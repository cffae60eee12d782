"""LiveRequests: finds a remembered remediation request in the API server.

A 404 can mean that the request is gone, or only that the version of its kind is: the API server names the
missing object, and no object if it lacks the kind (kube/status.py). In the second case discovery is
repeated, and the request is looked for in the served version. A request is gone if the API server does not
find it where its kind is served, if it has another uid, or if no version of its kind is served. A request
that cannot be read is not gone.
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
        """The API server's answer to the deletion; None: the request is gone.

        Raises:
            Conflict: it changed since `resource_version`, or has another uid: read it again.
            KubernetesError: it was not deleted, or the result is unknown.

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
        """The request with these annotations and our labels; None: the request is gone.

        An annotation with the value None is removed.

        Raises:
            Conflict: it changed since `resource_version`, or has another uid: read it again.
            KubernetesError: it was not written, or the result is unknown.

        """
        identity = {"uid": reference.uid, "resourceVersion": resource_version}
        labels = dict(self._client.labels)  # an adopted request has none of ours yet
        patch: Object = {"metadata": {**identity, "annotations": dict(annotations), "labels": labels}}

        async def merge(resource: Resource) -> Object:
            return await self._client.merge_patch(resource, reference.name, patch, reference.namespace)

        return await self._ask(reference, merge)

    async def _ask(self, reference: RequestReference, question: _Question) -> Object | None:
        """The answer from the version that is served; None: the object does not exist."""
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
