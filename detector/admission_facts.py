"""What the cluster says about a NodeHealthCheck that is about to be stored, read at that moment."""

import asyncio

from health.nodehealthcheck.admission_review import Change, Facts, Operation, TemplateKind, doubtful_kinds
from health.remediation_request import MULTIPLE_TEMPLATES
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import KubernetesError, NotFound
from kube.resource import Object, Resource
from kube.transport import Transport

INFRASTRUCTURES = Resource("config.openshift.io/v1", "Infrastructure", "infrastructures", namespaced=False)


class AdmissionFacts:
    """The reader of one cluster."""

    def __init__(self, transport: Transport) -> None:
        self._client = Client(transport)
        self._discovery = Discovery(transport)

    async def of(self, change: Change) -> Facts:
        """Return what the answer to `change` depends on; a deletion depends on nothing else.

        Raises:
            KubernetesError: the cluster could not be asked.

        """
        if change.operation is Operation.DELETE:
            return Facts()
        kinds = sorted(doubtful_kinds(change.new))
        several = await asyncio.gather(*map(self._takes_several, kinds))
        single = frozenset(kind for kind, takes in zip(kinds, several, strict=True) if not takes)
        return Facts(single_template_kinds=single, control_plane_topology=await self._topology())

    async def _takes_several(self, kind: TemplateKind) -> bool:
        try:
            templates = await self._client.list(await self._discovery.resource(*kind))
        except KubernetesError:
            return False  # what cannot be read counts as not supported, as in the reference
        return bool(templates) and all(map(_is_one_of_several, templates))

    async def _topology(self) -> str | None:
        try:
            infrastructure = await self._client.get(INFRASTRUCTURES, "cluster")
        except NotFound:
            return None  # not an OpenShift cluster
        topology: str = infrastructure.get("status", {}).get("controlPlaneTopology", "")
        return topology


def _is_one_of_several(template: Object) -> bool:
    return MULTIPLE_TEMPLATES in (template["metadata"].get("annotations") or {})
