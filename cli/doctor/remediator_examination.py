"""RemediatorExamination: reads the parts of each remediator that a cluster has.

It reads the served kinds, and the Lease and the Deployment of each controller by their usual names.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cli.doctor.finding import Finding
from cli.doctor.of_remediators import (
    RemediatorPresence,
    RemediatorUse,
    fitting_findings,
    use_finding,
    uses_of,
)
from cli.doctor.remediators import REMEDIATORS, SIGNS, Platform, Remediator
from cli.doctor.rights import Rights
from health.check.health_check import HealthCheck
from health.model.references import NO_TEMPLATE
from kube.connection import ClusterConnection
from kube.errors import Forbidden
from kube.lease import LeaseRecord, holder_is_valid
from kube.resource import LEASES, Resource
from runtime.rights import needs_for_requests

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
