"""The Machine of a node, as a second owner of its request, where both live in one namespace (NHC 2.4/3)."""

from health.model.node import Node
from health.model.references import TemplateReference
from kube.client import Client
from kube.discovery import Discovery, KindName
from kube.errors import NotFound
from objects.metadata import OwnerReference

MACHINES = KindName("machine.openshift.io/v1beta1", "Machine")


class NodeMachines:
    """Reads Machines, where the cluster has any."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def owner(self, node: Node, template: TemplateReference) -> OwnerReference | None:
        """The node's Machine; None if it has none that could own a request of `template`.

        Raises KubernetesError: the API server could not be asked.
        """
        namespace, _, name = node.metadata.annotations.machine.partition("/")
        if not name or namespace != template.namespace:
            return None
        try:
            resource = await self._discovery.resource(MACHINES.api_version, MACHINES.kind)
            machine = await self._client.get(resource, name, namespace)
        except NotFound:
            return None
        return OwnerReference(
            api_version=MACHINES.api_version, kind=MACHINES.kind, name=name, uid=machine["metadata"]["uid"]
        )
