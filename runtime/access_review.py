"""Asks an API server whether an identity has a right, without using the right."""

from collections.abc import Mapping

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
