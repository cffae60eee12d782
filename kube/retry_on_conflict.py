"""Writes to objects with several writers: read, change, write this version; repeat after a conflict.

A list with entries of other writers is written as a whole: the resourceVersion of the read makes the write
conditional, so their entries are kept, and a lost race is answered with 409 (ADR 23).
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from kube.client import Client
from kube.errors import Conflict, KindUnknown, NotFound
from kube.resource import Object, Resource

TRIES = 5
Result = TypeVar("Result")
Change = Callable[[Object], dict[str, Any]]
"""The merge patch for an object; empty if none is needed."""


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[Result]], tries: int = TRIES, *, may_vanish: bool = False
) -> Result:
    """The result of `attempt`, which reads again each time; the last of the `tries` may raise Conflict.

    With `may_vanish` also after NotFound: the object was deleted between its read and its write.
    """
    for _ in range(tries - 1):
        try:
            return await attempt()
        except Conflict:
            continue
        except NotFound as error:
            if isinstance(error, KindUnknown) or not may_vanish:
                raise
    return await attempt()


class ObjectIdentity(NamedTuple):
    """One object, identified by name and uid."""

    resource: Resource
    namespace: str
    name: str
    uid: str


async def patch_as_read(
    client: Client, identity: ObjectIdentity, change: Change, subresource: str | None = None
) -> Object | None:
    """The object after the change; None if another object has its name.

    Raises:
        NotFound: it is gone.
        Conflict: it changed during each try.
        KubernetesError: as the client does.

    """
    resource, namespace, name, uid = identity

    async def patch_once() -> Object | None:
        found = await client.get(resource, name, namespace)
        if found["metadata"]["uid"] != uid:
            return None
        patch = change(found)
        if not patch:
            return found
        version = {"uid": uid, "resourceVersion": found["metadata"]["resourceVersion"]}
        body = {**patch, "metadata": {**patch.get("metadata", {}), **version}}
        return await client.merge_patch(resource, name, body, namespace, subresource=subresource)

    return await retry_on_conflict(patch_once)
