"""Removes from the user's cluster what a demo created, found by label and name, also if it was killed.

Each step deletes what it finds and is repeated until it finds nothing. A step that fails does not stop the
others. CRDs that the demo created stay if others use them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import timedelta

from devcluster.errors import DevclusterError
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS
from devcluster.user_cluster.names import (
    CHECK,
    KINDS,
    NAMESPACE,
    NAMESPACE_OF_EVENTS,
    NODE_LEASES,
    PREFIX,
    SELECTOR,
    is_labelled,
)
from kube.client import Client
from kube.errors import Conflict, KindUnknown, KubernetesError, NotFound
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES, Object, Resource

PATIENCE = timedelta(seconds=60)
"""For each step: a namespace takes some seconds, and longer in a large cluster."""
INTERVAL = timedelta(milliseconds=300)

Report = Callable[[str], None]
Step = Callable[[], Awaitable[list[str]]]
"""Deletes what it finds; returns the names, so an empty list says that nothing is left."""


class LeftoverError(DevclusterError):
    """Objects of the demo are left in the cluster; the message names them."""


class DemoCleanUp:
    """The removal of what demos created in one cluster."""

    def __init__(self, client: Client, everything: Client, report: Report) -> None:
        """`client` is guarded, `everything` also reads the objects of others.

        `report` gets a sentence about each CRD that stays.
        """
        self._client = client
        self._everything = everything
        self._report = report
        self._reported: set[str] = set()

    async def run(self, *, also_namespace: bool = True) -> None:
        """Remove everything, with `also_namespace` also the namespace of the demo.

        Raises LeftoverError with the names of what is left and why.
        """
        steps = [self._requests, self._check, self._nodes, self._node_leases]
        if also_namespace:
            steps += [self._definitions, self._namespace, self._events]
        problems = [problem for step in steps if (problem := await self._until_done(step))]
        if problems:
            raise LeftoverError(f"The demo could not remove {'; '.join(problems)}.")

    async def _until_done(self, step: Step) -> str:
        """Repeat the step until nothing is left; else what is left, and why."""
        deadline = time.monotonic() + PATIENCE.total_seconds()
        while True:
            why = ""
            try:
                left = await step()
            except KubernetesError as error:
                left, why = [f"the {step.__name__.strip('_').replace('_', ' ')}"], f" ({error.message})"
            if not left:
                return ""
            if time.monotonic() > deadline:
                return f"{', '.join(left)}{why}"
            await asyncio.sleep(INTERVAL.total_seconds())

    async def _requests(self) -> list[str]:
        return await self._delete_all(REQUESTS, await self._list(REQUESTS, NAMESPACE), NAMESPACE)

    async def _check(self) -> list[str]:
        found = await self._list(NODE_HEALTH_CHECKS, selector=SELECTOR)
        return await self._delete_all(NODE_HEALTH_CHECKS, _named(found, (CHECK,)))

    async def _nodes(self) -> list[str]:
        found = await self._list(NODES, selector=SELECTOR)
        return await self._delete_all(NODES, _named(found, (PREFIX,)))

    async def _node_leases(self) -> list[str]:
        found = _named(await self._list(LEASES, NODE_LEASES), (PREFIX,))
        return await self._delete_all(LEASES, found, NODE_LEASES)

    async def _definitions(self) -> list[str]:
        found = await self._list(DEFINITIONS, selector=SELECTOR)
        created = {definition["metadata"]["name"]: definition for definition in found}
        left: list[str] = []
        for kind in KINDS:
            definition = created.get(kind.full_name)
            if definition is not None and not await self._is_used(kind):
                left += await self._delete_all(DEFINITIONS, [definition], by_uid=True)
        return left

    async def _is_used(self, kind: Resource) -> bool:
        """True if there are objects that the demo did not create: they would go with their CRD."""
        # Through the guard, the checks of others would be invisible, and be deleted with the CRD.
        try:
            found = await self._everything.list_metadata(kind)
        except KindUnknown:
            return False
        others = [one for one in found if not _is_of_demo(one["metadata"])]
        if others and kind.full_name not in self._reported:
            self._reported.add(kind.full_name)
            self._report(f"The CRD {kind.full_name} stays: it has objects that the demo did not create.")
        return bool(others)

    async def _namespace(self) -> list[str]:
        with suppress(NotFound):
            found = await self._client.get(NAMESPACES, NAMESPACE)
            if is_labelled(found["metadata"]):
                return await self._delete_all(NAMESPACES, [found], by_uid=True)
        return []

    async def _events(self) -> list[str]:
        found = _named(await self._list(EVENTS, NAMESPACE_OF_EVENTS), (PREFIX, f"{CHECK}."))
        return await self._delete_all(EVENTS, found, NAMESPACE_OF_EVENTS)

    async def _list(self, resource: Resource, namespace: str = "", *, selector: str = "") -> list[Object]:
        try:
            return await self._client.list(resource, namespace, selector)
        except KindUnknown:
            return []

    async def _delete_all(
        self, resource: Resource, found: Iterable[Object], namespace: str = "", *, by_uid: bool = False
    ) -> list[str]:
        """Delete the objects; the kind and name of each."""
        deleted = []
        for one in found:
            metadata = one["metadata"]
            uid = metadata["uid"] if by_uid else None
            with suppress(NotFound, Conflict):
                await self._client.delete(resource, metadata["name"], namespace, uid=uid)
            deleted.append(f"{resource.kind} {metadata['name']}")
        return deleted


def _named(found: Iterable[Object], beginnings: tuple[str, ...]) -> list[Object]:
    return [one for one in found if one["metadata"]["name"].startswith(beginnings)]


def _is_of_demo(metadata: Object) -> bool:
    return metadata.get("namespace") == NAMESPACE or (metadata["name"] == CHECK and is_labelled(metadata))
