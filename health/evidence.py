"""Evidence: which parts of objects it contains, how it is cut to size, and how long it is kept. Pure.

The parts of objects are a list of allowed fields, with nothing that may be a credential. Only names of
annotations are kept, because kubectl stores whole manifests in their values, and distributions process
arguments. Of a Pod there is no spec (environment, arguments, volumes) and no message of a container, which
may be a line of its log. The spec of a target is kept without free-form parts such as a provider's
configuration, which may contain user data, and its status without the provider's part. The rest of a status
is kept whole: its schema is the kind's own, and it shows the failure.

The document is YAML for people. Its order is the priority: the incident, the Node, the target, Events from
the newest on, then Pods, those with problems first. An object or list item without room is left out as a
whole, so the rest stays valid YAML; the document says how many there were.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import yaml

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
    kept = {"kind": "Node", "metadata": _metadata(node), "spec": _mapping(node.get("spec")), "status": status}
    return _bounded(kept)


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
    kept = {
        "last": last_seen(event),
        "first": event.get("firstTimestamp"),
        "times": event.get("count"),
        **{field: event.get(field) for field in ("type", "reason", "message")},
        "about": f"{about.get('kind', '')}/{about.get('name', '')}",
        "from": event.get("reportingComponent") or source.get("component"),
    }
    return _bounded({key: value for key, value in kept.items() if value not in (None, "")})


def last_seen(event: Object) -> str:
    """When it was last seen, as the API server writes it; "" sorts as the oldest."""
    last = _mapping(event.get("series")).get("lastObservedTime")
    created = _mapping(event.get("metadata")).get("creationTimestamp")
    return str(last or event.get("lastTimestamp") or event.get("eventTime") or created or "")


def kept_pod(pod: Object) -> dict[str, Any]:
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
    conditions = _listed(status.get("conditions"))
    ready = [found.get("status") for found in conditions if found.get("type") == "Ready"]
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
    """True for a number or a short text, and for a mapping of these."""
    parts = value.values() if isinstance(value, Mapping) else (value,)
    return all(
        len(part) <= LONGEST_NAME if isinstance(part, str) else part is None or isinstance(part, int | float)
        for part in parts
    )


def _some(of: Object, names: Iterable[str]) -> dict[str, Any]:
    return {name: of[name] for name in names if of.get(name) not in (None, "")}


def _mapping(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[Object]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _bounded(kept: Object) -> dict[str, Any]:
    return {text(key, LONGEST_NAME): _short(value) for key, value in kept.items()}


def _short(value: object) -> object:
    """The same with strings of bounded length, at any depth."""
    match value:
        case str():
            return text(value)
        case Mapping():
            return _bounded(value)
        case list():
            return [_short(part) for part in value]
        case _:
            return value


LIMIT_BYTES = 256 * 1024
"""A quarter of the maximum of a ConfigMap: a hundred of them take at most 25 MiB of etcd."""
INCIDENT = "incident.yaml"
_LONGEST_LACK = 300
_LACK_BYTES = 4 * _LONGEST_LACK + 16
"""The size of one in UTF-8, with the YAML around it."""


@dataclass(frozen=True, kw_only=True)
class EvidencePart:
    """One part of the evidence: an object, or a list with the most important item first."""

    name: str
    items: Sequence[Object] = ()
    """One item, unless it is a list."""
    is_list: bool = True
    unread: str | None = None
    """Why it could not be read; None if it was."""
    most: str | None = None
    """The total in words; None: all items were read."""

    @property
    def key(self) -> str:
        return f"{self.name}.yaml"

    def lack(self, kept: int) -> str | None:
        """The parts that are missing if `kept` items have room; None: none."""
        if self.unread is not None:
            # On one line, because it becomes a comment: messages of API servers may have several lines.
            return text(" ".join(f"no {self.name}: {self.unread}".split()), _LONGEST_LACK)
        total = self.most or str(len(self.items))
        if not self.is_list:
            return None if kept else f"no {self.name}: it has no room"
        return f"{kept} of {total} {self.name}" if self.most or kept < len(self.items) else None


@dataclass(frozen=True)
class EvidenceDocument:
    """The texts by name, each valid YAML, together no longer than the limit."""

    texts: Mapping[str, str]
    lacks: tuple[str, ...]
    """The missing parts, in words."""


def compose(
    incident: Mapping[str, str], parts: Iterable[EvidencePart], limit: int = LIMIT_BYTES
) -> EvidenceDocument:
    """The document; `incident` has short facts, which always have room."""
    all_parts = tuple(parts)
    # The name of each part and its missing items, which are named twice; an empty part has a line too.
    heads = sum(len(part.key) + 2 * _LACK_BYTES for part in all_parts)
    room = limit - _size(_dumped(dict(incident), is_flat=False)) - heads - len(INCIDENT)
    texts, lacks = {}, []
    for part in all_parts:
        bodies = []
        for item in part.items:
            body = _dumped([dict(item)] if part.is_list else dict(item))
            if _size(body) <= room:
                room -= _size(body)
                bodies.append(body)
        lack, body = part.lack(len(bodies)), "".join(bodies)
        if not bodies:
            body = "[]\n" if part.is_list else "{}\n"
            room -= _size(body)
        texts[part.key] = f"# {lack}\n{body}" if lack else body
        lacks += [lack] if lack else []
    described: dict[str, Any] = dict(incident) | ({"lacks": lacks} if lacks else {})
    return EvidenceDocument({INCIDENT: _dumped(described, is_flat=False), **texts}, tuple(lacks))


def _size(body: str) -> int:
    return len(body.encode())


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # ten times as fast
    """Writes repeated values in full, because people read the file."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  as there
        return True


def _dumped(value: object, *, is_flat: bool | None = None) -> str:
    """A value on one line if it `is_flat`, else on several; without nested values on one line."""
    # No line is folded, so that every text can be searched for.
    dumped: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=is_flat, sort_keys=False, allow_unicode=True, width=10**6
    )
    return dumped


MOST_AT_ONCE = 10
"""Deletions after each save: more than one, so that they keep up, and few, so that they are quick."""


class StoredEvidence(NamedTuple):
    """One ConfigMap with evidence, and its age."""

    name: str
    created: datetime


@dataclass(frozen=True)
class Retention:
    """The number of pieces of evidence to keep, and for how long."""

    most: int
    longest: timedelta

    def over(self, kept: Iterable[StoredEvidence], now: datetime, newest: str | None = None) -> list[str]:
        """The names to delete now, the oldest first.

        Timestamps of API servers have whole seconds, so `newest` is never deleted in favour of another one.
        """
        newest_first = sorted(
            kept, key=lambda stored: (stored.name == newest, stored.created, stored.name), reverse=True
        )
        old = [
            stored
            for place, stored in enumerate(newest_first)
            if place >= self.most or now - stored.created > self.longest
        ]
        return [stored.name for stored in reversed(old)][:MOST_AT_ONCE]
