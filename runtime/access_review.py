"""Asks an API server whether an identity has a right, without using the right."""

import asyncio
from collections.abc import Iterable, Mapping

from health.kinds.right import Right
from kube.client import Client
from kube.resource import Resource

_API = "authorization.k8s.io/v1"
SELF_REVIEWS = Resource(_API, "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False)
_REVIEWS = Resource(_API, "SubjectAccessReview", "subjectaccessreviews", namespaced=False)


async def is_allowed(
    client: Client, right: Right, verb: str, account: Mapping[str, object] | None = None
) -> bool:
    """True if the account with this `user` and `groups`, or else that of `client`, has the verb of `right`.

    Raises:
        KubernetesError: the API server cannot be asked; Forbidden: `client` may not review the account.

    """
    resource, _, subresource = right.resource.partition("/")
    attributes = {"verb": verb, "group": right.group, "resource": resource, "subresource": subresource}
    attributes |= {"namespace": right.namespace, "name": right.name}
    reviews = _REVIEWS if account else SELF_REVIEWS
    spec = {"resourceAttributes": attributes, **(account or {})}
    body = {"apiVersion": reviews.api_version, "kind": reviews.kind, "spec": spec}
    answer = await client.create(reviews, body)
    return bool(answer.get("status", {}).get("allowed"))


async def refused_verbs(
    client: Client, rights: Iterable[Right], account: Mapping[str, object] | None = None
) -> dict[Right, list[str]]:
    """The verbs that are refused of each right, all asked at once; rights that are complete are left out.

    Raises:
        KubernetesError: as `is_allowed` does.

    """

    async def refused(right: Right) -> list[str]:
        return [verb for verb in right.verbs if not await is_allowed(client, right, verb, account)]

    asked = list(dict.fromkeys(rights))
    answers = await asyncio.gather(*map(refused, asked))
    return {right: verbs for right, verbs in zip(asked, answers, strict=True) if verbs}
