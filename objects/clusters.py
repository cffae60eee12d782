"""How keys of cluster and name identify clusters, and which Secret has the kubeconfig of a cluster."""

from typing import NamedTuple

MANAGEMENT_CLUSTER = ""
"""The cluster of checks, targets, requests and Leases; it needs no name."""


class SecretField(NamedTuple):
    """One key of one Secret of the management cluster; the value is never kept here."""

    namespace: str
    name: str
    key: str

    def __str__(self) -> str:
        return f"the key {self.key} of the Secret {self.namespace}/{self.name}"
