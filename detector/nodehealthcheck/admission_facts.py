"""What the cluster says about a NodeHealthCheck that is about to be stored.

What is watched anyway answers without a request where it lets a check pass: had it been a moment behind, the
check would be flagged. A refusal rests on what is read at that moment: who has just annotated a template is
not told that he has not. Of templates that may be read but not listed, those that the check names are read,
as the detector works with such checks. What keeps the cluster from being asked, and so refuses every check,
is logged when it begins and when it ends.
"""

import asyncio
from collections.abc import Collection

from detector.watched_kind import WatchedTemplates
from health.kinds.nodehealthcheck.admission_review import (
    CheckOperation,
    Facts,
    Operation,
    TemplateKind,
    doubtful_kinds,
    templates_of_steps,
)
from health.kinds.nodehealthcheck.remediation_request import is_one_of_several
from health.model.references import TemplateReference
from kube.connection import ClusterConnection
from kube.errors import Forbidden, KubernetesError, NotFound
from kube.resource import Object, Resource
from runtime.problems import Problems

PART = "webhook"
INFRASTRUCTURES = Resource("config.openshift.io/v1", "Infrastructure", "infrastructures", namespaced=False)


class AdmissionFacts:
    """The reader of one cluster."""

    def __init__(self, connection: ClusterConnection, watched: WatchedTemplates) -> None:
        self._client = connection.client
        self._discovery = connection.discovery
        self._watched = watched
        # Not those of the process: one that is not ready would not be asked again, and never be well.
        self._problems = Problems("every NodeHealthCheck is refused")

    async def of(self, change: CheckOperation) -> Facts:
        """Return what the answer to `change` depends on; a deletion depends on nothing else.

        Raises:
            KubernetesError: the cluster could not be asked.

        """
        if change.operation is Operation.DELETE:
            return Facts()
        try:
            facts = await self._ask(change)
        except KubernetesError as error:
            self._problems.report(PART, error.message)
            raise
        self._problems.report(PART, "")
        return facts

    async def _ask(self, change: CheckOperation) -> Facts:
        kinds, named = sorted(doubtful_kinds(change.new)), templates_of_steps(change.new)
        several = await asyncio.gather(*(self._take_several(kind, named) for kind in kinds))
        single = frozenset(kind for kind, take in zip(kinds, several, strict=True) if not take)
        return Facts(single_template_kinds=single, control_plane_topology=await self._topology())

    async def _take_several(self, kind: TemplateKind, named: Collection[TemplateReference]) -> bool:
        watched = self._watched(kind)
        if watched and all(template.supports_multiple for template in watched):
            return True
        try:
            found = await self._read(kind, named)
        except KubernetesError:
            return False  # what cannot be read counts as not supported, as in the NodeHealthCheck operator
        return bool(found) and all(map(is_one_of_several, found))

    async def _read(self, kind: TemplateKind, named: Collection[TemplateReference]) -> Collection[Object]:
        """All templates of a kind; of those that we may not list the named ones."""
        resource = await self._discovery.resource(*kind)
        try:
            return await self._client.list(resource)
        except Forbidden:
            of_kind = [one for one in named if (one.api_version, one.kind) == kind]
            return [await self._get(resource, one) for one in of_kind]

    async def _get(self, resource: Resource, template: TemplateReference) -> Object:
        return await self._client.get(
            resource, template.name, template.namespace if resource.namespaced else ""
        )

    async def _topology(self) -> str | None:
        try:
            infrastructure = await self._client.get(INFRASTRUCTURES, "cluster")
        except NotFound:
            return None  # not an OpenShift cluster
        topology: str = infrastructure.get("status", {}).get("controlPlaneTopology", "")
        return topology
