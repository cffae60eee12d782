"""The identity of a cluster: its configured name and the first characters of kube-system's uid.

One Temporal namespace may serve many clusters. With the uid in workflow ids and task queues, two clusters
that were given the same name do not act for each other: of 100 clusters of one name, two have the same first
eight characters with a probability of one in a million.
"""

import re
from hashlib import sha256

from kube.client import Client
from kube.resource import KUBE_SYSTEM, NAMESPACES

UID_LENGTH = 8
"""The first group of a UUID: without a dash, so that the name is what stands before the last dash."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def cluster_identity(name: str, kube_system_uid: str) -> str:
    """`<name>-<first eight characters of the uid>`.

    Kubernetes promises no more of a uid than that it is unique. One that is no UUID may begin as others do,
    or have slashes, so its hash stands for it.
    """
    is_uuid = _UUID.fullmatch(kube_system_uid)
    characters = kube_system_uid if is_uuid else sha256(kube_system_uid.encode()).hexdigest()
    return f"{name}-{characters[:UID_LENGTH]}"


async def read_cluster_identity(client: Client, name: str) -> str:
    """The identity of the cluster that `client` talks to.

    Raises:
        KubernetesError: kube-system cannot be read.

    """
    kube_system = await client.get(NAMESPACES, KUBE_SYSTEM)
    return cluster_identity(name, kube_system["metadata"]["uid"])
