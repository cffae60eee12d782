"""How clusters are told apart by whatever is keyed by cluster and name, and where the way to one is kept."""

from typing import NamedTuple

MANAGEMENT_CLUSTER = ""
"""The one that checks, targets, requests and Leases are in; it needs no name to be told from others."""


class SecretField(NamedTuple):
    """One key of one Secret of the management cluster: where something secret is kept, never what it is."""

    namespace: str
    name: str
    key: str

    def __str__(self) -> str:
        return f"the key {self.key} of the Secret {self.namespace}/{self.name}"
