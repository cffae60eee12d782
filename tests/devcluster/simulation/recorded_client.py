"""A client of a cluster with the given objects, which records its writes in words."""

from typing import Any, cast

from kube.client import Client
from kube.errors import NotFound
from kube.resource import Object, Resource


class RecordedClient:
    """`writes` has a text for each write, and `patches` the body of each patch."""

    def __init__(self, **objects: Object) -> None:
        """`objects` are those of all kinds, by name."""
        self.writes: list[str] = []
        self.patches: list[Any] = []
        self._objects = objects

    @property
    def client(self) -> Client:
        return cast("Client", self)

    async def get(self, resource: Resource, name: str, *_: object) -> Object:
        if name not in self._objects:
            raise NotFound(f"There is no {resource.kind} {name}.")
        return self._objects[name]

    async def create(self, resource: Resource, *_: object) -> None:
        self.writes.append(f"create {resource.kind}")

    async def delete(self, resource: Resource, name: str, *_: object, uid: str) -> None:
        assert uid
        self.writes.append(f"delete {resource.kind} {name}")

    async def merge_patch(self, _: Resource, name: str, patch: Object, *_more: object) -> None:
        self.patches.append(patch)
        self.writes.append(f"{name}: {_in_words(patch)}")


def _in_words(patch: Object) -> str:
    match patch:
        case {"metadata": {"finalizers": names}}:
            return f"finalizers {', '.join(names)}"
        case {"metadata": {"uid": uid, "annotations": _}}:
            return f"link {uid}"
        case {"metadata": {"labels": _, "annotations": annotations}}:
            return f"power off until {next(iter(annotations.values()))}"
        case {"spec": {"providerID": _}}:
            return "provider ID"
        case {"status": {"phase": phase, "nodeRef": {"name": name, **more}}}:
            return f"{phase} as {more.get('uid', name)}"
        case {"status": {"phase": str(phase)}}:
            return phase
        case {"status": {"replicas": replicas, "readyReplicas": ready}}:
            return f"{ready} of {replicas} are ready"
        case {"status": {"conditions": conditions}}:
            return ", ".join(f"{c['type']}={c['status']} {c['reason']}" for c in conditions)
    raise ValueError(patch)
