"""Findings about rights that the table of rights lists and a cluster does not grant.

An administrator, who may review others, asks about the ServiceAccounts of `deploy/`. One of these accounts
asks about itself, and reports that it cannot review the other.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cli.doctor.finding import Finding, note, problem, warning
from health.check.health_check import HealthCheck
from health.cluster.upgrade import CLUSTER_VERSION
from health.kinds.right import Process, Right
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import Forbidden, KindUnknown
from kube.resource import Object, Resource
from runtime.access_review import is_allowed
from runtime.process_names import SERVICE_ACCOUNTS
from runtime.rights import (
    needs,
    needs_for_etcd,
    needs_for_evidence,
    needs_for_requests,
    needs_for_signal,
    needs_for_upgrade_pause,
    signals_upgrades_here,
)
from runtime.settings import Settings


@dataclass(frozen=True)
class NeededRights:
    """The rights for one cluster; kinds that the API server does not serve need none."""

    settings: Settings
    discovery: Discovery
    checks: Sequence[HealthCheck]
    """All checks that can be read."""

    async def all(self) -> list[Right]:
        """All needed rights.

        Raises:
            KubernetesError: discovery failed.

        """
        return [
            *needs(self.settings),
            *await self._of_signals(),
            *await self._of_upgrade_pause(),
            *await self._of_etcd(),
            *self._of_evidence(),
            *await self._of_requests(),
        ]

    async def _of_signals(self) -> list[Right]:
        wanted: list[Right] = []
        for signal in self.settings.upgrade_signals:
            with suppress(KindUnknown):  # an unserved kind signals nothing
                kind = await self.discovery.resource(signal.api_version, signal.kind)
                wanted += needs_for_signal(kind.group, kind.plural)
        return wanted

    async def _of_upgrade_pause(self) -> list[Right]:
        """None if upgrade pauses are off, or no served kind signals upgrades of this cluster."""
        for signal in signals_upgrades_here(self.settings) if self.settings.upgrade_pause == "on" else ():
            with suppress(KindUnknown):
                await self.discovery.resource(signal.api_version, signal.kind)
                return list(needs_for_upgrade_pause())
        return []

    async def _of_etcd(self) -> list[Right]:
        try:
            await self.discovery.resource(CLUSTER_VERSION.api_version, CLUSTER_VERSION.kind)
        except KindUnknown:
            return []
        return list(needs_for_etcd())

    def _of_evidence(self) -> list[Right]:
        wants = any(check.choices.evidence is not None for check in self.checks)
        return list(needs_for_evidence(self.settings)) if wants else []

    async def _of_requests(self) -> list[Right]:
        wanted: list[Right] = []
        for templates, requests in await _remediators(self.discovery, self.checks):
            wanted += needs_for_requests(requests.group, templates.plural, requests.plural)
        return wanted


async def requests_of(discovery: Discovery, checks: Sequence[HealthCheck]) -> list[Resource]:
    """The kinds of requests that these checks create.

    Raises:
        KubernetesError: discovery failed.

    """
    return [requests for _, requests in await _remediators(discovery, checks)]


async def _remediators(
    discovery: Discovery, checks: Sequence[HealthCheck]
) -> list[tuple[Resource, Resource]]:
    """Each served kind of template that checks name, with the kind of its requests."""
    found: list[tuple[Resource, Resource]] = []
    steps = (step.template for check in checks for step in check.steps)
    for template in {(step.api_version, step.kind): step for step in steps}.values():
        with suppress(KindUnknown):  # the check's own finding reports it
            templates = await discovery.resource(template.api_version, template.kind)
            requests = await discovery.resource(template.api_version, template.request_kind)
            found.append((templates, requests))
    return found


Account = Mapping[str, object] | None
"""The `user` and `groups` of a review; None: those of the client."""
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
        return user in map(self._user, Process)

    async def findings(self, needs: Iterable[Right]) -> list[Finding]:
        """Missing rights, and rights that cannot be reviewed.

        Raises:
            KubernetesError: the API server cannot be asked.

        """
        wanted = list(dict.fromkeys(needs))
        if not wanted:
            return []
        try:
            return await self._missing(wanted, {process: self._account(process) for process in Process})
        except Forbidden:
            return await self._of_ourselves(wanted)

    async def refused_to_us(self, needs: Iterable[Right]) -> list[tuple[Right, list[str]]]:
        """The missing verbs of each right, for the identity of `client`; complete rights are left out.

        Raises:
            KubernetesError: the API server cannot be asked.

        """
        wanted = list(dict.fromkeys(needs))
        refused = await asyncio.gather(*(self._refused(need, None) for need in wanted))
        return [(need, verbs) for need, verbs in zip(wanted, refused, strict=True) if verbs]

    async def _of_ourselves(self, needs: Sequence[Right]) -> list[Finding]:
        user = await self._who_am_i()
        unknown = [process for process in Process if self._user(process) != user]
        own = [need for need in needs if need.process not in unknown]
        finding = note if own else warning
        return [
            *await self._missing(own, dict.fromkeys(Process)),
            *(_unreviewed(process, self._accounts[process], user, finding) for process in unknown),
        ]

    async def _missing(self, needs: Sequence[Right], accounts: Mapping[Process, Account]) -> list[Finding]:
        refused = await asyncio.gather(*(self._refused(need, accounts[need.process]) for need in needs))
        return [_may_not(need, verbs) for need, verbs in zip(needs, refused, strict=True) if verbs]

    async def _refused(self, need: Right, account: Account) -> list[str]:
        return [verb for verb in need.verbs if not await is_allowed(self._client, need, verb, account)]

    async def _who_am_i(self) -> str:
        body: Object = {"apiVersion": _WHO_AM_I.api_version, "kind": _WHO_AM_I.kind}
        answer = await self._client.create(_WHO_AM_I, body)
        return str(answer.get("status", {}).get("userInfo", {}).get("username", ""))

    def _user(self, process: Process) -> str:
        return f"system:serviceaccount:{self._namespace}:{self._accounts[process]}"

    def _account(self, process: Process) -> Account:
        accounts = "system:serviceaccounts"
        groups = [accounts, f"{accounts}:{self._namespace}", "system:authenticated"]
        return {"user": self._user(process), "groups": groups}


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
