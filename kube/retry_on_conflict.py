"""Writing into objects that others write too: read afresh, change, write if nobody wrote meanwhile, or again.

The whole of a list is written that entries of others stand in, as it was read: the resourceVersion of that
read makes the write conditional, so nothing of theirs is lost, and the answer to a lost race is 409 (ADR 23).
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from kube.client import Client
from kube.errors import Conflict
from kube.resource import Object, Resource

TRIES = 5
Result = TypeVar("Result")
Change = Callable[[Object], dict[str, Any]]
"""The merge patch for an object as it is; empty: it needs none."""


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[Result]], tries: int = TRIES, lost: type[Exception] = Conflict
) -> Result:
    """What `attempt` answers, which reads afresh each time; the last of the `tries` may raise `lost`."""
    for _ in range(tries - 1):
        with suppress(lost):
            return await attempt()
    return await attempt()


class ObjectIdentity(NamedTuple):
    """One object, told from others of its name."""

    resource: Resource
    namespace: str
    name: str
    uid: str


async def patch_as_read(
    client: Client, identity: ObjectIdentity, change: Change, subresource: str = ""
) -> Object | None:
    """What is there after the change; None: the object is gone, another one has its name.

    Raises:
        Conflict: it changed under us again and again.
        KubernetesError: as the client does.

    """
    return await retry_on_conflict(lambda: _patch_once(client, identity, change, subresource))


async def _patch_once(
    client: Client, identity: ObjectIdentity, change: Change, subresource: str
) -> Object | None:
    resource, namespace, name, uid = identity
    found = await client.get(resource, name, namespace)
    if found["metadata"]["uid"] != uid:
        return None
    patch = change(found)
    if not patch:
        return found
    version = {"uid": uid, "resourceVersion": found["metadata"]["resourceVersion"]}
    body = {**patch, "metadata": {**patch.get("metadata", {}), **version}}
    return await client.merge_patch(resource, name, body, namespace, subresource=subresource)
