"""How keys of cluster and name identify clusters, and which Secret has the kubeconfig of a cluster.

One Temporal namespace may serve many clusters. With the uid in workflow ids and task queues, two clusters
with the same configured name do not act for each other: among 100 clusters of one name, two have the same
first eight characters with a probability of one in a million.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

UID_LENGTH = 8
"""The first group of a UUID: it contains no dash, so the configured name ends before the last dash."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

INSTALLATION_LABEL = "paramedic.dev/installation"
"""The label of each object that an installation makes, with the identity of its cluster as the value."""
MANAGEMENT_CLUSTER = ""
"""The cluster of checks, targets, requests and Leases; it needs no name."""


def cluster_identity(name: str, kube_system_uid: str) -> str:
    """`<name>-<first eight characters of the uid>`.

    Kubernetes promises only that a uid is unique. A uid that is not a UUID may share its beginning with
    others, or contain slashes, so its hash replaces it.
    """
    is_uuid = _UUID.fullmatch(kube_system_uid)
    characters = kube_system_uid if is_uuid else sha256(kube_system_uid.encode()).hexdigest()
    return f"{name}-{characters[:UID_LENGTH]}"


def is_of(identity: str, kube_system_uid: str) -> bool:
    """True if the cluster with this identity has this uid of kube-system."""
    return identity == cluster_identity(configured_name(identity), kube_system_uid)


def of_one_cluster(identity: str, others: Iterable[str]) -> frozenset[str]:
    """Those of the other identities that differ from this one in the configured name alone, or not at all."""
    uid = identity.rpartition("-")[2]
    return frozenset(other for other in others if other.rpartition("-")[2] == uid)


def is_cluster_called(name: str, cluster: str) -> bool:
    """True if `name` is the identity of this cluster, or the configured name in it; "" matches all."""
    return name in ("", cluster, configured_name(cluster))


def configured_name(identity: str) -> str:
    """The name that processes of this identity are configured with."""
    return identity.rpartition("-")[0]


def identities(configured: str, identity: str) -> tuple[str, ...]:
    """The possible identities of the cluster that a person calls `configured`, the likeliest first.

    `identity` is that of processes with this configured name. If `configured` already ends with the same uid,
    it is itself an identity, unless a user has configured an identity as the name.
    """
    end = identity.removeprefix(configured)
    return (configured, identity) if configured.endswith(end) else (identity,)


class SecretField(NamedTuple):
    """One key of one Secret of the management cluster; the value is never kept here."""

    namespace: str
    name: str
    key: str

    def __str__(self) -> str:
        return f"the key {self.key} of the Secret {self.namespace}/{self.name}"
