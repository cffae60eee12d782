"""The identity of a cluster: its configured name and the first characters of kube-system's uid."""

from kube.client import Client
from kube.resource import KUBE_SYSTEM, NAMESPACES
from objects.clusters import cluster_identity


async def read_cluster_identity(client: Client, name: str) -> str:
    """The identity of the cluster that `client` talks to.

    Raises:
        KubernetesError: kube-system cannot be read.

    """
    kube_system = await client.get(NAMESPACES, KUBE_SYSTEM)
    return cluster_identity(name, kube_system["metadata"]["uid"])
