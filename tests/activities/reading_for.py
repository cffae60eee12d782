"""A client that cannot write, for activities that lack a right."""

from kube.client import Client
from kube.resource import Object, Resource
from kube.transport import Transport


class ReadingFor(Client):
    """A client without the right to patch, whose reads another client makes."""

    def __init__(self, reader: Client, transport: Transport) -> None:
        super().__init__(transport)
        self._reader = reader

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        return await self._reader.get(resource, name, namespace)
