"""Clients with the conflicts and refusals that real clients meet."""

import asyncio
from collections.abc import Awaitable, Callable

from devcluster.simulation.resources import MACHINES
from kube.client import Client
from kube.errors import AlreadyExists, Forbidden, KindUnknown, KubernetesError
from kube.resource import EVENTS, Object, Resource
from kube.transport import Transport

Change = Callable[[], Awaitable[None]]


class Overtaken(Client):
    """Right after each read of a kind another writer makes the next change."""

    def __init__(self, transport: Transport, of: Resource, *changes: Change) -> None:
        super().__init__(transport, "tests")
        self._of = of
        self._changes = list(changes)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        found = await super().get(resource, name, namespace)
        if resource == self._of and self._changes:
            await self._changes.pop(0)()
        return found


class Refused(Client):
    """An admission plugin that refuses every change of a Machine."""

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        if resource == MACHINES:
            raise Forbidden("Machines stay.")
        return await super().delete(resource, name, namespace, uid=uid, resource_version=resource_version)

    async def merge_patch(
        self, resource: Resource, name: str, body: Object, namespace: str = "", subresource: str | None = None
    ) -> Object:
        if resource == MACHINES:
            raise Forbidden("Machines stay.")
        return await super().merge_patch(resource, name, body, namespace, subresource)


class Keeps(Client):
    """An admission plugin that refuses deletions and patches of objects with one name."""

    def __init__(self, transport: Transport, name: str) -> None:
        super().__init__(transport, "tests")
        self._name = name

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        if name == self._name:
            raise Forbidden(f"{name} stays.")
        return await super().delete(resource, name, namespace, uid=uid, resource_version=resource_version)

    async def merge_patch(
        self, resource: Resource, name: str, body: Object, namespace: str = "", subresource: str | None = None
    ) -> Object:
        if name == self._name:
            raise Forbidden(f"{name} stays.")
        return await super().merge_patch(resource, name, body, namespace, subresource)


class Answered(Client):
    """Returns this answer to every creation of one kind."""

    def __init__(self, transport: Transport, of: Resource, error: KubernetesError) -> None:
        super().__init__(transport, "tests")
        self._of = of
        self._error = error

    async def create(self, resource: Resource, body: Object, namespace: str = "") -> Object:
        if resource == self._of:
            raise self._error
        return await super().create(resource, body, namespace)


class NameFreed(Client):
    """Right after a name conflict another client deletes the object with that name."""

    def __init__(self, transport: Transport, of: Resource, free: Change) -> None:
        super().__init__(transport, "tests")
        self._of = of
        self._free = free

    async def create(self, resource: Resource, body: Object, namespace: str = "") -> Object:
        try:
            return await super().create(resource, body, namespace)
        except AlreadyExists:
            if resource == self._of:
                await self._free()
            raise


class PatchesAnswered(Client):
    """Returns this answer to every patch of one kind."""

    def __init__(self, transport: Transport, of: Resource, error: KubernetesError) -> None:
        super().__init__(transport, "tests")
        self._of = of
        self._error = error

    async def merge_patch(
        self, resource: Resource, name: str, body: Object, namespace: str = "", subresource: str | None = None
    ) -> Object:
        if resource == self._of:
            raise self._error
        return await super().merge_patch(resource, name, body, namespace, subresource)


class EventsRefused(Client):
    async def create(self, resource: Resource, body: Object, namespace: str = "") -> Object:
        if resource == EVENTS:
            raise Forbidden("No Events today.")
        return await super().create(resource, body, namespace)


class EventsUnanswered(Client):
    async def create(self, resource: Resource, body: Object, namespace: str = "") -> Object:
        if resource == EVENTS:
            await asyncio.Event().wait()
        return await super().create(resource, body, namespace)


class Without(Client):
    """For one kind the server answers unlike an API server, always or from some time on."""

    def __init__(self, transport: Transport, of: Resource) -> None:
        super().__init__(transport, "tests")
        self._of = of

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        if resource == self._of:
            raise KindUnknown(f"No {self._of.plural} are served here.")
        return await super().get(resource, name, namespace)
