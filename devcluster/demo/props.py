"""What stands on the stage before a story begins: its objects are created, those of the other one taken away.

Every function raises KubernetesError.
"""

from contextlib import suppress

from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import Object, Resource


async def ensure(client: Client, resource: Resource, body: Object, namespace: str = "") -> None:
    """Create an object; that of an earlier demo is gone on with."""
    with suppress(AlreadyExists):
        await client.create(resource, body, namespace)


async def remove(client: Client, resource: Resource, name: str, namespace: str = "") -> None:
    """Delete an object that an earlier demo may have left."""
    with suppress(NotFound):
        await client.delete(resource, name, namespace)
