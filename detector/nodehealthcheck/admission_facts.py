"""AdmissionFacts: reads what the webhook needs to know to admit a NodeHealthCheck.

A check that the watches let pass is admitted without a request: a stale answer would only flag the check
later. A refusal is based on a fresh read, so that a template that was annotated a moment ago counts.
Templates that may be read but not listed are read by the names in the check, as the detector does for such
checks. Problems that prevent asking the cluster, and so refuse every check, are logged when they begin and
end.
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
    """Reads the facts for admission in one cluster."""

    def __init__(self, connection: ClusterConnection, watched: WatchedTemplates) -> None:
        self._client = connection.client
        self._discovery = connection.discovery
        self._watched = watched
        # Not the problems of the process: an unready detector gets no reviews, and so would stay unready.
        self._problems = Problems("every NodeHealthCheck is refused")

    async def of(self, change: CheckOperation) -> Facts:
        """Return the facts for the answer to `change`; none for a deletion, which is always admitted.

        Raises:
            KubernetesError: the cluster cannot be read.

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
        """All templates of a kind, or the named ones if we may not list them."""
        resource = await self._discovery.resource(*kind)
        try:
            return await self._client.list_metadata(resource)
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
