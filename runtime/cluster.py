"""The identity of a cluster: its configured name and the first characters of kube-system's uid.

One Temporal namespace may serve many clusters. With the uid in workflow ids and task queues, two clusters
that were given the same name can never act for each other.
"""

from kube.client import Client
from kube.resource import NAMESPACES

UID_LENGTH = 4


def cluster_identity(name: str, kube_system_uid: str) -> str:
    """`<name>-<first four characters of the uid>`."""
    return f"{name}-{kube_system_uid[:UID_LENGTH]}"


async def read_cluster_identity(client: Client, name: str) -> str:
    """The identity of the cluster that `client` talks to.

    Raises:
        KubernetesError: kube-system cannot be read.

    """
    kube_system = await client.get(NAMESPACES, "kube-system")
    return cluster_identity(name, kube_system["metadata"]["uid"])
