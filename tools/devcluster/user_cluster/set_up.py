"""Creates what the demo needs in the user's cluster, each object with the label of the demo.

CRDs and a namespace that exist already are used as they are, and stay.

DemoCleanUp removes from the cluster what a demo created, found by label and name, also if it was killed. Each
step deletes what it finds and is repeated until it finds nothing. A step that fails does not stop the others.
CRDs that the demo created stay if others use them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import yaml

from devcluster.demo.fixtures import NodeFixtures
from devcluster.errors import DevclusterError
from devcluster.manifests import ROOT
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS
from devcluster.user_cluster.names import (
    CHECK,
    KINDS,
    LABELS,
    NAMESPACE,
    NAMESPACE_OF_EVENTS,
    NODE_LEASES,
    PREFIX,
    SELECTOR,
    is_labelled,
)
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import AlreadyExists, Conflict, KindUnknown, KubernetesError, NotFound
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES, Object, Resource
from kube.transport import Transport

SIMULATED_NODES = 3
"""One of them fails: few for the user's cluster, and enough for a threshold of 51 %."""
FOLDERS = (ROOT / "deploy" / "base" / "crds", ROOT / "tools" / "devcluster" / "crds")
SERVED_WITHIN = timedelta(seconds=60)
FIXTURES = NodeFixtures(
    check=CHECK,
    namespace=NAMESPACE,
    nodes=SIMULATED_NODES,
    selector={"matchLabels": dict(LABELS)},
    labels=LABELS,
)
"""The check of the demo selects the simulated Nodes alone; the guard lets no other one pass."""


def namespace() -> Object:
    return {
        "apiVersion": NAMESPACES.api_version,
        "kind": NAMESPACES.kind,
        "metadata": {"name": NAMESPACE, "labels": dict(LABELS)},
    }


def definitions() -> list[Object]:
    """The CRDs of the kinds that the demo needs, with its label."""
    wanted = {kind.full_name for kind in KINDS}
    files = (file for folder in FOLDERS for file in sorted(Path(folder).glob("*.yaml")))
    found = (definition for file in files for definition in yaml.safe_load_all(file.read_text()))
    return [_labelled(definition) for definition in found if definition["metadata"]["name"] in wanted]


def _labelled(body: Object) -> Object:
    metadata = body["metadata"]
    return body | {"metadata": metadata | {"labels": {**metadata.get("labels", {}), **LABELS}}}


async def install_definitions(transport: Transport, client: Client) -> None:
    """Create missing CRDs; return when all kinds are served.

    Raises NotReadyError and KubernetesError.
    """
    for definition in definitions():
        with suppress(AlreadyExists):
            await client.create(DEFINITIONS, definition)

    async def are_served() -> bool:
        discovery = Discovery(transport)
        try:
            for kind in KINDS:
                await discovery.resource(kind.api_version, kind.kind)
        except KindUnknown:
            return False
        return True

    names = ", ".join(kind.full_name for kind in KINDS)
    await until(are_served, within=SERVED_WITHIN, otherwise=f"the cluster does not serve {names}")


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
        others = [other for other in found if not _is_of_demo(other["metadata"])]
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
        self, resource: Resource, objects: Iterable[Object], namespace: str = "", *, by_uid: bool = False
    ) -> list[str]:
        """Delete the objects; the kind and name of each."""
        deleted = []
        for body in objects:
            metadata = body["metadata"]
            uid = metadata["uid"] if by_uid else None
            with suppress(NotFound, Conflict):
                await self._client.delete(resource, metadata["name"], namespace, uid=uid)
            deleted.append(f"{resource.kind} {metadata['name']}")
        return deleted


def _named(objects: Iterable[Object], beginnings: tuple[str, ...]) -> list[Object]:
    return [body for body in objects if body["metadata"]["name"].startswith(beginnings)]


def _is_of_demo(metadata: Object) -> bool:
    return metadata.get("namespace") == NAMESPACE or (metadata["name"] == CHECK and is_labelled(metadata))
