"""Findings about rights that the table of rights lists and a cluster does not grant.

An administrator, who may review others, asks about the ServiceAccounts of `deploy/`. One of these accounts
asks about itself, and reports that it cannot review the other.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from cli.doctor.finding import Finding, note, problem, warning
from health.kinds.right import Process, Right
from kube.client import Client
from kube.errors import Forbidden
from kube.resource import Object, Resource
from runtime.process_names import SERVICE_ACCOUNTS

_REVIEWS = Resource(
    "authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
_SELF_REVIEWS = Resource(
    "authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
_WHO_AM_I = Resource("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False)


class Rights:
    """Reviews the rights of our processes in one namespace, as far as `client` may.

    `accounts` has the name of the ServiceAccount of each process.
    """

    def __init__(
        self, client: Client, namespace: str, accounts: Mapping[Process, str] = SERVICE_ACCOUNTS
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._accounts = accounts

    async def are_of_one_of_us(self) -> bool:
        """True if the caller is one of our processes, which have only the rights that they need.

        Raises:
            KubernetesError: the API server cannot be asked.

        """
        user = await self._who_am_i()
        return user in map(self._account, Process)

    async def findings(self, needs: Iterable[Right]) -> list[Finding]:
        """Missing rights, and rights that cannot be reviewed.

        Raises:
            KubernetesError: the API server cannot be asked.

        """
        wanted = list(dict.fromkeys(needs))
        if not wanted:
            return []
        try:
            return await self._missing(wanted, _REVIEWS)
        except Forbidden:
            return await self._of_ourselves(wanted)

    async def refused_to_us(self, needs: Iterable[Right]) -> list[tuple[Right, list[str]]]:
        """The missing verbs of each right, for the identity of `client`; complete rights are left out.

        Raises:
            KubernetesError: the API server cannot be asked.

        """
        wanted = list(dict.fromkeys(needs))
        refused = await asyncio.gather(*(self._refused(need, _SELF_REVIEWS) for need in wanted))
        return [(need, verbs) for need, verbs in zip(wanted, refused, strict=True) if verbs]

    async def _of_ourselves(self, needs: Sequence[Right]) -> list[Finding]:
        user = await self._who_am_i()
        unknown = [process for process in Process if self._account(process) != user]
        own = [need for need in needs if need.process not in unknown]
        finding = note if own else warning
        return [
            *await self._missing(own, _SELF_REVIEWS),
            *(_unreviewed(one, self._accounts[one], user, finding) for one in unknown),
        ]

    async def _missing(self, needs: Sequence[Right], reviews: Resource) -> list[Finding]:
        refused = await asyncio.gather(*(self._refused(need, reviews) for need in needs))
        return [_may_not(need, verbs) for need, verbs in zip(needs, refused, strict=True) if verbs]

    async def _refused(self, need: Right, reviews: Resource) -> list[str]:
        return [verb for verb in need.verbs if not await self._may(need, verb, reviews)]

    async def _may(self, need: Right, verb: str, reviews: Resource) -> bool:
        resource, _, subresource = need.resource.partition("/")
        attributes = {"group": need.group, "resource": resource, "subresource": subresource, "verb": verb}
        spec: Object = {"resourceAttributes": attributes | {"namespace": need.namespace, "name": need.name}}
        if reviews is _REVIEWS:
            spec |= {"user": self._account(need.process), "groups": self._groups}
        body: Object = {"apiVersion": reviews.api_version, "kind": reviews.kind, "spec": spec}
        answer = await self._client.create(reviews, body)
        return bool(answer.get("status", {}).get("allowed"))

    async def _who_am_i(self) -> str:
        body: Object = {"apiVersion": _WHO_AM_I.api_version, "kind": _WHO_AM_I.kind}
        answer = await self._client.create(_WHO_AM_I, body)
        return str(answer.get("status", {}).get("userInfo", {}).get("username", ""))

    def _account(self, process: Process) -> str:
        return f"system:serviceaccount:{self._namespace}:{self._accounts[process]}"

    @property
    def _groups(self) -> list[str]:
        accounts = "system:serviceaccounts"
        return [accounts, f"{accounts}:{self._namespace}", "system:authenticated"]


def _may_not(need: Right, verbs: Sequence[str]) -> Finding:
    what = f"the {need.process} may not {', '.join(verbs)} {need}"
    return problem("RightMissing", what, f"apply {need.granted_by}")


def _unreviewed(
    process: Process, account: str, user: str, finding: Callable[[str, str, str], Finding]
) -> Finding:
    return finding(
        "RightsUnknown",
        f"{user!r} cannot review the rights of the {process}",
        f"run it as an administrator, or as the ServiceAccount {account}",
    )
