"""Decides which requests of the demo reach the user's cluster. Pure.

All programs of the demo reach the API server through one proxy, which asks this module about each request.
Reads of Nodes and of health checks get the label of the demo as a selector, so no program sees another Node
or check. A write passes only if the table `WRITES` has a rule for its object.
Everything else is refused, also reads that could go around a selector.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pydantic_core import from_json

from devcluster.simulation.nodes import BOOT
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
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
from health.kinds.registry import CHECK_KINDS
from kube.resource import CONFIG_MAPS, EVENTS, LEASES, NAMESPACES, NODES
from runtime.paramedic_status import PARAMEDIC_STATUSES
from runtime.rights import SELF_REVIEWS

Query = tuple[tuple[str, str], ...]
GroupResource = tuple[str, str]
DISCOVERY = ("version", "readyz", "livez", "healthz")
CREATE, PATCH, DELETE = "POST", "PATCH", "DELETE"
REVIEWS = (SELF_REVIEWS.group, SELF_REVIEWS.plural)
FILTERED: frozenset[GroupResource] = frozenset(
    {("", NODES.plural), *((kind.group, kind.plural) for kind in CHECK_KINDS.values())}
)
"""The resources that are read through the selector of the demo only."""
IN_OWN_NAMESPACE: frozenset[GroupResource] = frozenset(
    (resource.group, resource.plural)
    for resource in (LEASES, CONFIG_MAPS, EVENTS, PARAMEDIC_STATUSES, TEMPLATES, REQUESTS)
)


@dataclass(frozen=True, kw_only=True)
class ApiPlace:
    """The object or collection that the path of a request names."""

    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    """"" is the collection."""
    subresource: str = ""

    @property
    def group_resource(self) -> GroupResource:
        return self.group, self.resource


@dataclass(frozen=True, kw_only=True)
class ApiRequest:
    """A request of a program of the demo."""

    method: str
    path: str
    query: Query = ()
    body: bytes = b""


@dataclass(frozen=True)
class Forward:
    """The verdict that sends the request, with this query."""

    query: Query


@dataclass(frozen=True)
class Refuse:
    """The verdict that refuses the request, for this reason."""

    reason: str


def judge(request: ApiRequest) -> Forward | Refuse:
    parts = [unquote(part) for part in request.path.removeprefix("/").split("/")]
    if any(part in ("", ".", "..") or "/" in part for part in parts):
        return Refuse("the path is not in its shortest form")
    if request.method == "GET" and _is_discovery(parts):
        return Forward(request.query)
    place = place_of(parts)
    if place is None:
        return Refuse("the path names neither an object nor a collection")
    if request.method == "GET":
        return _judge_read(place, request.query)
    body = _object(request.body)
    if any(may(request.method, place, body) for may in WRITES):
        return Forward(request.query)
    return Refuse("the demo changes only what it may create")


def place_of(parts: list[str]) -> ApiPlace | None:
    """The place that the parts of a path name; None if they name nothing that the demo could need."""
    match parts:
        case ["api", "v1", *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case _:
            return None
    match rest:
        case ["watch" | "proxy", *_]:  # the old form of watches, which has no place in the table
            return None
        case ["namespaces", namespace, resource, *more] if len(more) <= 2 and resource not in _OF_NAMESPACES:  # noqa: PLR2004  name and subresource
            name, subresource = (*more, "", "")[:2]
            return ApiPlace(
                group=group, resource=resource, namespace=namespace, name=name, subresource=subresource
            )
        case [resource, *more] if len(more) <= 2:  # noqa: PLR2004  name and subresource
            name, subresource = (*more, "", "")[:2]
            return ApiPlace(group=group, resource=resource, name=name, subresource=subresource)
    return None


_OF_NAMESPACES = ("status", "finalize")
"""The subresources of a Namespace."""


def _is_discovery(parts: list[str]) -> bool:
    match parts:
        case ["api" | "apis"] | ["api", _] | ["apis", _] | ["apis", _, _]:
            return True
        case [name]:
            return name in DISCOVERY
    return False


def _judge_read(place: ApiPlace, query: Query) -> Forward | Refuse:
    if place.subresource:
        return Refuse("the demo reads no subresources")
    if place.group_resource not in FILTERED:
        return Forward(query)
    if not place.name:
        return Forward(_with_selector(query))
    is_ours = place.name.startswith(PREFIX) if place.resource == NODES.plural else place.name == CHECK
    return Forward(query) if is_ours else Refuse("it is no Node or check of the demo")


def _with_selector(query: Query) -> Query:
    """The query with the selector of the demo added to each one in it.

    The API server takes the first of several, and a selector that is empty selects everything.
    """
    selectors = [value for name, value in query if name == "labelSelector" and value]
    others = tuple((name, value) for name, value in query if name != "labelSelector")
    return (*others, ("labelSelector", ",".join([*selectors, SELECTOR])))


def _object(body: bytes) -> Mapping[str, Any]:
    """The body as an object; {} if it is none."""
    try:
        value = from_json(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


May = Callable[[str, ApiPlace, Mapping[str, Any]], bool]


def _node(method: str, place: ApiPlace, body: Mapping[str, Any]) -> bool:
    if place.group_resource != ("", NODES.plural) or place.subresource not in ("", "status"):
        return False
    if method == CREATE:
        return not place.name and _name(body).startswith(PREFIX) and _is_labelled(body)
    if not place.name.startswith(PREFIX):
        return False
    if method == PATCH:
        changed = _mapping(body.get("metadata"))
        is_power = "labels" not in changed or set(_mapping(changed["labels"])) == {BOOT}
        harmless = dict(body) | {"metadata": {key: changed[key] for key in changed if key != "labels"}}
        return place.subresource == "status" or (is_power and _changes_annotations_alone(dict(harmless)))
    return method == DELETE and not place.subresource


def _lease_of_node(method: str, place: ApiPlace, body: Mapping[str, Any]) -> bool:
    if (place.group_resource, place.namespace) != ((LEASES.group, LEASES.plural), NODE_LEASES):
        return False
    return _has_prefix(method, place, body)


def _event_about_node_or_check(method: str, place: ApiPlace, body: Mapping[str, Any]) -> bool:
    if (place.group_resource, place.namespace) != (("", EVENTS.plural), NAMESPACE_OF_EVENTS):
        return False
    return _has_prefix(method, place, body, beginnings=(PREFIX, f"{CHECK}."))


def _has_prefix(
    method: str, place: ApiPlace, body: Mapping[str, Any], beginnings: tuple[str, ...] = (PREFIX,)
) -> bool:
    if method == CREATE:
        return not place.name and _name(body).startswith(beginnings)
    return method in (PATCH, DELETE) and not place.subresource and place.name.startswith(beginnings)


def _check(method: str, place: ApiPlace, body: Mapping[str, Any]) -> bool:
    """The check of the demo, which selects simulated Nodes alone; its spec is never changed."""
    if place.group_resource != (NODE_HEALTH_CHECKS.group, NODE_HEALTH_CHECKS.plural):
        return False
    if method == CREATE:
        selector = _mapping(body.get("spec")).get("selector")
        selects = selector == {"matchLabels": LABELS}
        return not place.name and _name(body) == CHECK and _is_labelled(body) and selects
    if method == PATCH:
        is_harmless = place.subresource == "status" or _changes_annotations_alone(body)
        return place.name == CHECK and place.subresource in ("", "status") and is_harmless
    return method == DELETE and place.name == CHECK and not place.subresource


def _in_own_namespace(method: str, place: ApiPlace, _: Mapping[str, Any]) -> bool:
    if place.namespace != NAMESPACE or place.group_resource not in IN_OWN_NAMESPACE:
        return False
    if place.subresource not in ("", "status"):
        return False
    return method == CREATE or (method in (PATCH, DELETE) and bool(place.name))


def _namespace(method: str, place: ApiPlace, body: Mapping[str, Any]) -> bool:
    if place.group_resource != ("", NAMESPACES.plural) or place.subresource:
        return False
    if method == CREATE:
        # kube-apiserver creates the other one itself, some seconds after its start.
        return (_name(body) == NAMESPACE and _is_labelled(body)) or _name(body) == NODE_LEASES
    return method == DELETE and place.name == NAMESPACE and _has_uid(body)


def _definition(method: str, place: ApiPlace, body: Mapping[str, Any]) -> bool:
    if place.group_resource != (DEFINITIONS.group, DEFINITIONS.plural) or place.subresource:
        return False
    names = [kind.full_name for kind in KINDS]
    if method == CREATE:
        return not place.name and _name(body) in names and _is_labelled(body)
    return method == DELETE and place.name in names and _has_uid(body)


def _review(method: str, place: ApiPlace, _: Mapping[str, Any]) -> bool:
    """A question about the user's own rights, which changes nothing."""
    return method == CREATE and place.group_resource == REVIEWS and not place.name


WRITES: tuple[May, ...] = (
    _node,
    _lease_of_node,
    _event_about_node_or_check,
    _check,
    _in_own_namespace,
    _namespace,
    _definition,
    _review,
)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _name(body: Mapping[str, Any]) -> str:
    """The name of an object to create; a name that the API server would generate is none."""
    name = _mapping(body.get("metadata")).get("name")
    return name if isinstance(name, str) else ""


def _is_labelled(body: Mapping[str, Any]) -> bool:
    return is_labelled(_mapping(body.get("metadata")))


def _changes_annotations_alone(patch: Mapping[str, Any]) -> bool:
    """True for a merge patch that keeps labels and spec, as the worker removes annotations of people."""
    metadata = _mapping(patch.get("metadata"))
    return set(patch) == {"metadata"} and set(metadata) <= {"annotations", "resourceVersion", "uid"}


def _has_uid(options: Mapping[str, Any]) -> bool:
    """True if only the object is deleted that the clean-up has seen with the label."""
    return bool(_mapping(options.get("preconditions")).get("uid"))
