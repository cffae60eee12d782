"""Objects as an API server sends them, and the record that the tests keep of them."""

from typing import Any

from pydantic import Field

from kube.object_store import ObjectStore
from kube.record import Change
from kube.resource import Resource
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

WIDGETS = Resource("example.com/v1", "Widget", "widgets", namespaced=False)
PATH = "/apis/example.com/v1/widgets"


class WidgetSpec(FrozenObject):
    size: int = 0


class Widget(FrozenObject):
    metadata: ObjectMetadata
    spec: WidgetSpec = Field(default_factory=WidgetSpec)


def widget(name: str, version: int, size: object = 1, uid: str = "", heartbeat: int = 0) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "creationTimestamp": "2025-01-01T00:00:00Z",
            "managedFields": [{"time": heartbeat}],
        },
        "spec": {"size": size},
        "status": {"heartbeat": heartbeat},
    }


def listed(version: int, *items: dict[str, Any], token: str = "") -> dict[str, Any]:
    return {
        "kind": "WidgetList",
        "metadata": {"resourceVersion": str(version), "continue": token},
        "items": list(items),
    }


def event(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": item}


def bookmark(version: int) -> dict[str, Any]:
    return event("BOOKMARK", {"kind": "Widget", "metadata": {"resourceVersion": str(version)}})


def failed(code: int, reason: str) -> dict[str, Any]:
    return event("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": f"said {reason}"})


def replaced(store: ObjectStore[Widget], listed: Any) -> list[Change[Widget]]:
    """All changes of a complete list, which is taken over."""
    return [change for step in store.replacing(listed) for change in step]
