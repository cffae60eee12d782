"""SecretField: where something secret is kept; never what it is."""

from typing import NamedTuple


class SecretField(NamedTuple):
    """One key of one Secret of the management cluster."""

    namespace: str
    name: str
    key: str

    def __str__(self) -> str:
        return f"the key {self.key} of the Secret {self.namespace}/{self.name}"
