"""Reads what a cluster of the user has and grants, before the demo begins. It changes nothing.

It reads past the guard, because it looks for objects of others.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from devcluster.errors import NotReadyError
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from devcluster.user_cluster.names import CHECK_KIND, CLUSTER, NAMESPACE, NAMESPACE_OF_EVENTS, NODE_LEASES
from devcluster.user_cluster.refusals import Found
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import KindUnknown
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES, Object, Resource
from kube.transport import Transport
from runtime.process_names import LEADER_LEASE
from runtime.rights import needs, needs_for_requests
from runtime.settings import Settings

REVIEWS = Resource(
    "authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
AT_ONCE = 8
"""Questions about rights in flight, so that a small API server is not throttled."""
SETTINGS = Settings(
    cluster=CLUSTER, namespace=NAMESPACE, lease_namespace=NAMESPACE, check_kinds=(CHECK_KIND,)
)
"""The settings of the detector and the worker of the demo."""


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
        checks=[one for kind in CHECK_KINDS.values() for one in await _checks(transport, client, kind)],
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
            return not await _may(client, verb, right)

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


async def _may(client: Client, verb: str, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    body = {
        "apiVersion": REVIEWS.api_version,
        "kind": REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(REVIEWS, body)
    return bool(answer.get("status", {}).get("allowed"))
