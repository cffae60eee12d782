"""The identity of a cluster: its configured name and the first characters of kube-system's uid.

One Temporal namespace may serve many clusters. With the uid in workflow ids and task queues, two clusters
with the same configured name do not act for each other: among 100 clusters of one name, two have the same
first eight characters with a probability of one in a million.
"""

import re
from hashlib import sha256

from kube.client import Client
from kube.resource import KUBE_SYSTEM, NAMESPACES

UID_LENGTH = 8
"""The first group of a UUID: it contains no dash, so the configured name ends before the last dash."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def cluster_identity(name: str, kube_system_uid: str) -> str:
    """`<name>-<first eight characters of the uid>`.

    Kubernetes promises only that a uid is unique. A uid that is not a UUID may share its beginning with
    others, or contain slashes, so its hash replaces it.
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
