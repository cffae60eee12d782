"""NeededRights: the rights that our processes need in one cluster, by settings, served kinds and checks."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from cli.doctor.of_upgrade_pause import are_checks_paused
from health.check.health_check import HealthCheck
from health.cluster.upgrade import CLUSTER_VERSION
from health.kinds.right import Right
from kube.discovery import Discovery
from kube.errors import KindUnknown
from kube.resource import Resource
from runtime.rights import (
    needs,
    needs_for_etcd,
    needs_for_evidence,
    needs_for_requests,
    needs_for_signal,
    needs_for_upgrade_pause,
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
        is_needed = await are_checks_paused(self.settings, self.discovery)
        return list(needs_for_upgrade_pause()) if is_needed else []

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
