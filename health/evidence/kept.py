"""Kept: what evidence takes over of an object. It is said what is taken, so what nobody thought of is not.

Rule: nothing that may be a credential. Values of annotations are left out, and only their names kept: kubectl
keeps whole manifests there, and distributions the arguments of processes. Of a Pod there is no spec: no
environment, arguments, or volumes; nor the messages of its containers, which may be lines of its log. Of the
spec of a target no part in which others write what they like, such as a provider's configuration, which may
have user data, and of its status not what the provider writes. The rest of a status is taken whole: it is of
the kind's own schema, and what was wrong stands there.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]

LONGEST_TEXT = 1000
"""Characters of one string; kubelets write shorter ones."""
LONGEST_NAME = 253
LEFT_OUT = "(left out)"
_OF_PROVIDER = "providerStatus"
"""In the status of a Machine: whatever the provider writes."""
_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "finalizers",
    "ownerReferences",
)
_CONDITION = ("type", "status", "reason", "message", "lastTransitionTime")
_STATE = ("reason", "exitCode", "signal", "startedAt", "finishedAt")
_POD = ("phase", "reason", "message", "startTime", "nominatedNodeName", "qosClass", "podIP", "hostIP")
_WELL = ("Running", "Succeeded")


def text(of: object, longest: int = LONGEST_TEXT) -> str:
    """As a text that any file and any API server takes, and no longer than that."""
    whole = "".join(
        char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in str(of)
    )
    return whole if len(whole) <= longest else f"{whole[: longest - 1]}…"


def kept_node(node: Object) -> dict[str, Any]:
    """Of a Node all but values of annotations, and the images on its disk."""
    status = {key: value for key, value in _mapping(node.get("status")).items() if key != "images"}
    return _bounded(
        {"kind": "Node", "metadata": _metadata(node), "spec": _mapping(node.get("spec")), "status": status}
    )


def kept_target(target: Object) -> dict[str, Any]:
    """Of a target that is no Node its metadata, its status, and what is short and flat in its spec."""
    spec = {
        key: value if _is_flat(value) else LEFT_OUT for key, value in _mapping(target.get("spec")).items()
    }
    head = _some(target, ("apiVersion", "kind"))
    told = _mapping(target.get("status"))
    status = {key: LEFT_OUT if key == _OF_PROVIDER else value for key, value in told.items()}
    return _bounded({**head, "metadata": _metadata(target), "spec": spec, "status": status})


def kept_event(event: Object) -> dict[str, Any]:
    """Of an Event all that is told to people."""
    about, source = _mapping(event.get("involvedObject")), _mapping(event.get("source"))
    component = event.get("reportingComponent") or source.get("component")
    kept = {
        "last": last_seen(event),
        "first": event.get("firstTimestamp"),
        "times": event.get("count"),
        "type": event.get("type"),
        "reason": event.get("reason"),
        "message": event.get("message"),
        "about": f"{about.get('kind', '')}/{about.get('name', '')}",
        "from": component,
    }
    return _bounded({key: value for key, value in kept.items() if value not in (None, "")})


def last_seen(event: Object) -> str:
    """When it was seen last, as the API server writes it; "" sorts as the oldest."""
    series = _mapping(event.get("series"))
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        _mapping(event.get("metadata")).get("creationTimestamp"),
    )
    return str(next((one for one in times if one), ""))


def kept_pod(pod: Object) -> dict[str, Any]:
    """Of a Pod how it is, and whose."""
    metadata, status = _mapping(pod.get("metadata")), _mapping(pod.get("status"))
    owners = [one for one in _listed(metadata.get("ownerReferences")) if one.get("controller")]
    kept = {
        "pod": f"{metadata.get('namespace', '')}/{metadata.get('name', '')}",
        "uid": metadata.get("uid"),
        "owner": f"{owners[0].get('kind')}/{owners[0].get('name')}" if owners else None,
        "created": metadata.get("creationTimestamp"),
        "deleted": metadata.get("deletionTimestamp"),
        "priorityClass": _mapping(pod.get("spec")).get("priorityClassName"),
        **_some(status, _POD),
        "conditions": [_some(one, _CONDITION) for one in _listed(status.get("conditions"))],
        "initContainers": [_container(one) for one in _listed(status.get("initContainerStatuses"))],
        "containers": [_container(one) for one in _listed(status.get("containerStatuses"))],
    }
    return _bounded({key: value for key, value in kept.items() if value not in (None, "", [])})


def is_well(pod: Object) -> bool:
    """Whether nothing is the matter with a Pod, so that it is left out before others."""
    status = _mapping(pod.get("status"))
    if _mapping(pod.get("metadata")).get("deletionTimestamp") or status.get("phase") not in _WELL:
        return False
    ready = [one.get("status") for one in _listed(status.get("conditions")) if one.get("type") == "Ready"]
    return status["phase"] == "Succeeded" or ready == ["True"]


def _metadata(of: Object) -> dict[str, Any]:
    metadata = _mapping(of.get("metadata"))
    names = sorted(_mapping(metadata.get("annotations")))
    return _some(metadata, _METADATA) | ({"namesOfAnnotations": names} if names else {})


def _container(status: Object) -> dict[str, Any]:
    kept = {
        "name": status.get("name"),
        "image": status.get("image"),
        "ready": status.get("ready"),
        "restartCount": status.get("restartCount"),
        "state": _state(status.get("state")),
        "lastState": _state(status.get("lastState")),
    }
    return {key: value for key, value in kept.items() if value not in (None, {})}


def _state(state: object) -> dict[str, Any]:
    return {name: _some(_mapping(of), _STATE) for name, of in _mapping(state).items()}


def _is_flat(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(_is_short(one) for one in value.values())
    return _is_short(value)


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_NAME
    return value is None or isinstance(value, int | float)


def _some(of: Object, names: Iterable[str]) -> dict[str, Any]:
    return {name: of[name] for name in names if of.get(name) not in (None, "")}


def _mapping(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[Object]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _bounded(kept: dict[str, Any]) -> dict[str, Any]:
    return {text(key, LONGEST_NAME): _short(value) for key, value in kept.items()}


def _short(value: object) -> object:
    """The same with strings of bounded length, at any depth."""
    match value:
        case str():
            return text(value)
        case Mapping():
            return {text(key, LONGEST_NAME): _short(one) for key, one in value.items()}
        case list():
            return [_short(one) for one in value]
        case _:
            return value
