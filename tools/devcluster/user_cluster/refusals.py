"""Decides why the demo must not begin in a cluster, from what the cluster has and grants.

The demo is for clusters without health checks: other controllers might act on its simulated Nodes, or its
Nodes would count in their thresholds. `--despite-checks` lets it begin all the same. Missing rights and
foreign Nodes with the names of the demo always stop it.

The demo reads past the guard before it begins, because it looks for objects of others. It changes nothing.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from devcluster.assets import OLDEST_KUBERNETES
from devcluster.errors import DevclusterError, NotReadyError
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from devcluster.user_cluster.names import (
    CHECK_KIND,
    CLUSTER,
    NAMESPACE,
    NAMESPACE_OF_EVENTS,
    NODE_LEASES,
    PREFIX,
    is_labelled,
)
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import KindUnknown
from kube.lease import LeaseRecord, holder_is_valid
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES, Object, Resource
from kube.transport import Transport
from runtime.process_names import LEADER_LEASE
from runtime.rights import is_allowed, needs, needs_for_requests
from runtime.settings import Settings

AT_ONCE = 8
"""Questions about rights in flight, so that a small API server is not throttled."""
SETTINGS = Settings(
    cluster=CLUSTER, namespace=NAMESPACE, lease_namespace=NAMESPACE, check_kinds=(CHECK_KIND,)
)
"""The settings of the detector and the worker of the demo."""
MOST_NAMES = 5
"""Of a long list a person reads the beginning."""
OPTION = "--despite-checks"


class RefusedError(DevclusterError):
    """The demo does not begin in this cluster; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The objects of a cluster that concern the demo."""

    version: tuple[int, int]
    """Of Kubernetes."""
    checks: Sequence[tuple[str, Object]] = ()
    """Health checks of every kind, with the name of the kind."""
    leader_leases: Sequence[Object] = ()
    """The leader Leases of detectors of Paramedic."""
    operator_leases: Sequence[Object] = ()
    """The leader Leases of NodeHealthCheck operators."""
    nodes: Sequence[Object] = ()
    """The metadata of all Nodes."""
    missing_rights: Sequence[str] = ()
    """Each in words: "create, delete nodes"."""


async def look(transport: Transport) -> Found:
    """Read all that decides whether the demo may begin; raises KubernetesError and NotReadyError."""
    client = Client(transport)
    missing = await missing_rights(client, demo_rights())
    if missing:
        return Found(version=await _version(transport), missing_rights=missing)
    names = (LEADER_LEASE, CHECK_KIND.operator_lease)
    leases = [await client.list(LEASES, name=name) for name in names]
    return Found(
        version=await _version(transport),
        checks=[check for kind in CHECK_KINDS.values() for check in await _checks(transport, client, kind)],
        leader_leases=leases[0],
        operator_leases=leases[1],
        nodes=await client.list_metadata(NODES),
    )


async def _version(transport: Transport) -> tuple[int, int]:
    answer = await transport.request("GET", "/version")
    found = re.match(r"v(\d+)\.(\d+)\.", str(json.loads(answer).get("gitVersion", "")))
    if found is None:
        raise NotReadyError(f"{transport.server} states no version of Kubernetes")
    return int(found[1]), int(found[2])


async def _checks(transport: Transport, client: Client, kind: CheckKind) -> list[tuple[str, Object]]:
    discovery = Discovery(transport)
    for api_version in kind.api_versions:
        try:
            served = await discovery.resource(api_version, kind.kind)
        except KindUnknown:
            continue
        return [(kind.kind, check) for check in await client.list_metadata(served)]
    return []


def demo_rights() -> Iterator[Right]:
    """The rights that the demo itself uses in the cluster, and those of its detector and worker."""
    own: tuple[tuple[Resource, tuple[str, ...], str], ...] = (
        (NODES, ("create", "get", "list", "watch", "delete"), ""),
        (NAMESPACES, ("create", "get", "delete"), ""),
        (DEFINITIONS, ("create", "list", "delete"), ""),
        (NODE_HEALTH_CHECKS, ("create", "get", "list", "delete"), ""),
        (TEMPLATES, ("create", "get"), NAMESPACE),
        (REQUESTS, ("get", "list", "watch", "delete"), NAMESPACE),
        (LEASES, ("create", "get", "patch", "delete"), NAMESPACE),
        (LEASES, ("create", "get", "list", "patch", "delete"), NODE_LEASES),
        (LEASES, ("list",), ""),
        (EVENTS, ("list", "delete"), NAMESPACE_OF_EVENTS),
    )
    for resource, verbs, namespace in own:
        yield _right(resource, verbs, namespace)
    for parent in (NODES, REQUESTS):
        yield _right(parent, ("patch",), NAMESPACE if parent.namespaced else "", "/status")
    yield from chain(needs(SETTINGS), needs_for_requests(REQUESTS.group, TEMPLATES.plural, REQUESTS.plural))


def _right(resource: Resource, verbs: tuple[str, ...], namespace: str, subresource: str = "") -> Right:
    return Right(
        process=Process.WORKER,
        group=resource.group,
        resource=f"{resource.plural}{subresource}",
        verbs=verbs,
        namespace=namespace,
    )


async def missing_rights(client: Client, rights: Iterable[Right]) -> list[str]:
    """The rights that the user of `client` lacks, in words; raises KubernetesError."""
    limit = asyncio.Semaphore(AT_ONCE)
    questions = dict.fromkeys((verb, _without_reason(right)) for right in rights for verb in right.verbs)

    async def lacks(verb: str, right: Right) -> bool:
        async with limit:
            return not await is_allowed(client, right, verb)

    answers = await asyncio.gather(*(lacks(*question) for question in questions))
    missing: dict[Right, list[str]] = {}
    for (verb, right), is_missing in zip(questions, answers, strict=True):
        if is_missing:
            missing.setdefault(right, []).append(verb)
    return [f"{', '.join(verbs)} {right}" for right, verbs in missing.items()]


def _without_reason(right: Right) -> Right:
    """The right alone, so that it is asked about once."""
    return Right(
        process=Process.WORKER,
        group=right.group,
        resource=right.resource,
        verbs=(),
        namespace=right.namespace,
        name=right.name,
    )


def refuse(found: Found, context: str, now: datetime, *, despite_checks: bool) -> None:
    """Raise RefusedError if the demo must not begin."""
    if found.version < OLDEST_KUBERNETES:
        version, oldest = (".".join(map(str, numbers)) for numbers in (found.version, OLDEST_KUBERNETES))
        raise RefusedError(f"The cluster of context {context} has Kubernetes {version}: it must be {oldest}.")
    refuse_missing_rights(found.missing_rights, context)
    if strangers := _strangers(found.nodes):
        raise RefusedError(
            f"The cluster of context {context} has Nodes with names of the demo that it did not create "
            f"({_some(strangers)}): rename them, because the demo changes Nodes by name."
        )
    if not despite_checks and (reasons := list(_controllers(found, now))):
        raise RefusedError(
            f"The cluster of context {context} has {', '.join(reasons)}: the simulated Nodes could concern "
            f"them. Choose a cluster without health checks, or add {OPTION}."
        )


def refuse_missing_rights(missing: Sequence[str], context: str) -> None:
    """Raise RefusedError if the user of the context may not do what the demo needs."""
    if missing:
        raise RefusedError(
            f"The user of context {context} may not {_some(missing, '; ')}: the demo needs these rights, "
            "and cluster-admin has them."
        )


def _controllers(found: Found, now: datetime) -> Iterable[str]:
    for kind in dict.fromkeys(kind for kind, _ in found.checks):
        names = [
            _name(check) for of, check in found.checks if of == kind and not is_labelled(check["metadata"])
        ]
        if names:
            yield f"{len(names)} {kind}{'s' if len(names) > 1 else ''} ({_some(names)})"
    for lease in found.leader_leases:
        if lease["metadata"].get("namespace") != NAMESPACE:
            yield f"an installation of Paramedic (Lease {_name(lease)})"
    for lease in found.operator_leases:
        if holder_is_valid(LeaseRecord.read(lease), now):
            yield f"a running {CHECK_KIND.operator} (Lease {_name(lease)})"


def _strangers(nodes: Iterable[Object]) -> list[str]:
    return [
        _name(node) for node in nodes if _name(node).startswith(PREFIX) and not is_labelled(node["metadata"])
    ]


def _name(body: Object) -> str:
    metadata = body["metadata"]
    return "/".join(part for part in (metadata.get("namespace", ""), metadata["name"]) if part)


def _some(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - MOST_NAMES
    return between.join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
