"""Kept: the fields of objects that evidence contains, as a list of allowed fields.

Rule: nothing that may be a credential. Only names of annotations are kept, because kubectl stores whole
manifests in their values, and distributions process arguments. Of a Pod there is no spec (environment,
arguments, volumes) and no message of a container, which may be a line of its log. The spec of a target is
kept without free-form parts such as a provider's configuration, which may contain user data, and its status
without the provider's part. The rest of a status is kept whole: its schema is the kind's own, and it shows
the failure.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]

LONGEST_TEXT = 1000
"""Characters of one string; kubelets write shorter ones."""
LONGEST_NAME = 253
LEFT_OUT = "(left out)"
_OF_PROVIDER = "providerStatus"
"""The part of a Machine's status that the provider writes freely."""
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
    """A text that any file and API server accepts, cut to `longest` characters."""
    whole = "".join(
        char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in str(of)
    )
    return whole if len(whole) <= longest else f"{whole[: longest - 1]}…"


def kept_node(node: Object) -> dict[str, Any]:
    """A Node without values of annotations and without the images on its disk."""
    status = {key: value for key, value in _mapping(node.get("status")).items() if key != "images"}
    return _bounded(
        {"kind": "Node", "metadata": _metadata(node), "spec": _mapping(node.get("spec")), "status": status}
    )


def kept_target(target: Object) -> dict[str, Any]:
    """A target that is not a Node: its metadata, its status, and the short flat fields of its spec."""
    spec = {
        key: value if _is_flat(value) else LEFT_OUT for key, value in _mapping(target.get("spec")).items()
    }
    head = _some(target, ("apiVersion", "kind"))
    reported = _mapping(target.get("status"))
    status = {key: LEFT_OUT if key == _OF_PROVIDER else value for key, value in reported.items()}
    return _bounded({**head, "metadata": _metadata(target), "spec": spec, "status": status})


def kept_event(event: Object) -> dict[str, Any]:
    """The fields of an Event that people read."""
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
    """When it was last seen, as the API server writes it; "" sorts as the oldest."""
    series = _mapping(event.get("series"))
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        _mapping(event.get("metadata")).get("creationTimestamp"),
    )
    return str(next((time for time in times if time), ""))


def kept_pod(pod: Object) -> dict[str, Any]:
    """The state and the owner of a Pod."""
    metadata, status = _mapping(pod.get("metadata")), _mapping(pod.get("status"))
    owners = [owner for owner in _listed(metadata.get("ownerReferences")) if owner.get("controller")]
    kept = {
        "pod": f"{metadata.get('namespace', '')}/{metadata.get('name', '')}",
        "uid": metadata.get("uid"),
        "owner": f"{owners[0].get('kind')}/{owners[0].get('name')}" if owners else None,
        "created": metadata.get("creationTimestamp"),
        "deleted": metadata.get("deletionTimestamp"),
        "priorityClass": _mapping(pod.get("spec")).get("priorityClassName"),
        **_some(status, _POD),
        "conditions": [_some(condition, _CONDITION) for condition in _listed(status.get("conditions"))],
        "initContainers": [
            _container(container) for container in _listed(status.get("initContainerStatuses"))
        ],
        "containers": [_container(container) for container in _listed(status.get("containerStatuses"))],
    }
    return _bounded({key: value for key, value in kept.items() if value not in (None, "", [])})


def is_well(pod: Object) -> bool:
    """True if a Pod has no problem, so that it is left out before others."""
    status = _mapping(pod.get("status"))
    if _mapping(pod.get("metadata")).get("deletionTimestamp") or status.get("phase") not in _WELL:
        return False
    ready = [
        condition.get("status")
        for condition in _listed(status.get("conditions"))
        if condition.get("type") == "Ready"
    ]
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
        return all(_is_short(part) for part in value.values())
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
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _bounded(kept: dict[str, Any]) -> dict[str, Any]:
    return {text(key, LONGEST_NAME): _short(value) for key, value in kept.items()}


def _short(value: object) -> object:
    """The same with strings of bounded length, at any depth."""
    match value:
        case str():
            return text(value)
        case Mapping():
            return {text(key, LONGEST_NAME): _short(part) for key, part in value.items()}
        case list():
            return [_short(part) for part in value]
        case _:
            return value
