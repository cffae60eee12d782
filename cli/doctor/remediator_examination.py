"""Reads the parts of each remediator that a cluster has, for notes about used and about fitting remediators.

The examination reads the served kinds, and the Lease and the Deployment of each controller by their usual
names.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cli.doctor.finding import Finding, note
from cli.doctor.remediators import REMEDIATORS, SIGNS, TEST_ON_ONE_NODE, Platform, Remediator, Tried
from cli.doctor.rights import Rights
from health.check.health_check import HealthCheck
from health.model.references import NO_TEMPLATE, TemplateReference
from kube.connection import ClusterConnection
from kube.errors import Forbidden
from kube.lease import LeaseRecord, holder_is_valid
from kube.resource import LEASES, Resource
from runtime.rights import needs_for_requests


@dataclass(frozen=True)
class RemediatorUse:
    """A remediator, with the checks that use it."""

    remediator: Remediator
    checks: tuple[str, ...]
    template: TemplateReference = NO_TEMPLATE
    """One of their templates, all of one kind; NO_TEMPLATE: these checks name none."""


@dataclass(frozen=True, kw_only=True)
class RemediatorPresence:
    """The parts of one remediator that the cluster has."""

    is_served: bool
    """True if the API server serves its template and, for a used remediator, its requests."""
    controller: str = ""
    """The Lease or Deployment that shows its controller; "": none was found."""
    is_hidden: bool = False
    """True if the caller may see neither Leases nor Deployments of others."""
    lacks_rights: bool | None = False
    """True if our processes may not do all that requests need; None: the caller may not review that."""


def uses_of(checks: Iterable[HealthCheck]) -> list[RemediatorUse]:
    """The remediators that these checks use, in the order of their steps."""
    found: dict[tuple[str, str], RemediatorUse] = {}
    for use in (use for check in checks for use in _uses(check)):
        key = (use.remediator.group, use.remediator.name)
        before = found.get(key, use)
        names = tuple(dict.fromkeys((*before.checks, *use.checks)))
        found[key] = replace(before, checks=names)
    return list(found.values())


def use_finding(use: RemediatorUse, presence: RemediatorPresence) -> Finding:
    """The note about a remediator that checks use; `presence` does not matter without a template."""
    row, checks = use.remediator, ", ".join(use.checks)
    advice = f"it needs {row.needs} ({row.anchor}); before you rely on it: {TEST_ON_ONE_NODE}"
    if use.template == NO_TEMPLATE:
        what = f"{checks} without a template: the remediator, {row.name} ({row.tried}), {row.acts}"
        return note("RemediatorUsed", what, advice)
    state = ", ".join((_served(presence), *_controller(row, presence), _rights(presence)))
    what = f"{use.template.request_kind}s are made for {checks}: {row.name} ({row.tried}) {state}"
    is_there = presence.is_served and (presence.controller or presence.is_hidden or not row.deployment)
    return note("RemediatorUsed" if is_there else "RemediatorNotFound", what, advice)


def fitting_findings(
    platforms: frozenset[Platform], present: Sequence[RemediatorPresence]
) -> Iterator[Finding]:
    """A note about each remediator that fits a cluster whose checks use none.

    `present` has one entry for each row of the table.
    """
    where = " and ".join(platform for platform in Platform if platform in platforms) or "no machine API"
    for row, presence in zip(REMEDIATORS, present, strict=True):
        if row.fits(platforms):
            what = f"no check remediates yet, in a cluster with {where}: {row.name} ({row.tried}) {row.acts}"
            crds = f"it {_served(presence)}, and" if row.template else "it"
            advice = f"{crds} needs {row.needs} ({row.anchor}); begin with {TEST_ON_ONE_NODE}"
            yield note("RemediatorFits", what, advice)


def _uses(check: HealthCheck) -> Iterator[RemediatorUse]:
    names = (str(check.reference).replace("/", " ", 1),)
    if check.steps:
        yield from (RemediatorUse(_row_of(step.template), names, step.template) for step in check.steps)
        return
    for row in REMEDIATORS:
        if row.without_template == check.reference.group:
            yield RemediatorUse(row, names)


def _row_of(template: TemplateReference) -> Remediator:
    wanted = (template.api_version.partition("/")[0], template.kind)
    return next((row for row in REMEDIATORS if (row.group, row.template) == wanted), _another(template))


def _another(template: TemplateReference) -> Remediator:
    return Remediator(
        name=template.request_kind,
        acts="is not in our table",
        needs="a role that lets Paramedic make its requests",
        tried=Tried.NO,
        api_version=template.api_version,
        template=template.kind,
        section="Another remediator",
    )


def _served(presence: RemediatorPresence) -> str:
    return "has its CRDs here" if presence.is_served else "has no CRDs here"


def _controller(row: Remediator, presence: RemediatorPresence) -> Iterator[str]:
    if presence.controller:
        yield f"its controller has {presence.controller}"
    elif row.deployment and presence.is_hidden:
        yield "you may not see whether its controller runs"
    elif row.deployment:
        yield f"its controller has neither a Deployment {row.deployment} nor holds a Lease {row.lease}"


def _rights(presence: RemediatorPresence) -> str:
    if not presence.is_served:
        return "so that Paramedic can make no requests"
    if presence.lacks_rights is None:
        return "and you may not see whether Paramedic may make its requests"
    return f"and Paramedic {'lacks rights for' if presence.lacks_rights else 'may make'} its requests"


_DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments", namespaced=True)


@dataclass(frozen=True)
class RemediatorExamination:
    """Examines the remediators of one cluster, with the rights of the caller."""

    connection: ClusterConnection
    rights: Rights
    now: datetime

    async def findings(self, checks: Sequence[HealthCheck]) -> list[Finding]:
        """Notes about the remediators that the checks use, or about those that fit if they use none.

        Raises:
            KubernetesError: the API server cannot be asked.

        """
        if used := uses_of(checks):
            present = await asyncio.gather(*map(self._presence_of_use, used))
            return [use_finding(use, presence) for use, presence in zip(used, present, strict=True)]
        present = await asyncio.gather(*map(self._presence_of_row, REMEDIATORS))
        return list(fitting_findings(await self._platforms(), present))

    async def _platforms(self) -> frozenset[Platform]:
        served = [await self._served(*SIGNS[platform]) for platform in Platform]
        return frozenset(platform for platform, found in zip(Platform, served, strict=True) if found)

    async def _presence_of_use(self, use: RemediatorUse) -> RemediatorPresence:
        if use.template == NO_TEMPLATE:
            return RemediatorPresence(is_served=False)
        templates = await self._served(use.template.api_version, use.template.kind)
        requests = await self._served(use.template.api_version, use.template.request_kind)
        found = await self._presence_of_controller(use.remediator)
        if templates is None or requests is None:
            return found
        needs = needs_for_requests(requests.group, templates.plural, requests.plural)
        reviewed = {finding.reason for finding in await self.rights.findings(needs)}
        lacks = True if "RightMissing" in reviewed else None if reviewed else False
        return replace(found, is_served=True, lacks_rights=lacks)

    async def _presence_of_row(self, row: Remediator) -> RemediatorPresence:
        is_served = bool(row.template) and await self._served(row.api_version, row.template) is not None
        return RemediatorPresence(is_served=is_served)

    async def _presence_of_controller(self, row: Remediator) -> RemediatorPresence:
        unserved = RemediatorPresence(is_served=False)
        if not row.deployment:
            return unserved
        try:
            sign = await self._held_lease(row.lease) or await self._deployment(row.deployment)
        except Forbidden:
            return replace(unserved, is_hidden=True)
        return replace(unserved, controller=sign)

    async def _held_lease(self, name: str) -> str:
        leases = map(LeaseRecord.read, await self.connection.client.list(LEASES, name=name))
        held = (lease.metadata for lease in leases if holder_is_valid(lease, self.now))
        return next((f"the Lease {metadata.namespace}/{metadata.name}" for metadata in held), "")

    async def _deployment(self, name: str) -> str:
        """The Deployment of that name with its Pods, in any namespace; "" without one."""
        for found in await self.connection.client.list(_DEPLOYMENTS, name=name):
            wanted, ready = found["spec"].get("replicas", 1), found.get("status", {}).get("readyReplicas", 0)
            namespace = found["metadata"]["namespace"]
            return f"the Deployment {namespace}/{name} ({ready} of {wanted} Pods ready)"
        return ""

    async def _served(self, api_version: str, kind: str) -> Resource | None:
        return await self.connection.discovery.served_now(api_version, kind)
