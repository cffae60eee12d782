"""UpgradeSignal: which condition of which objects says that the cluster is being upgraded (decision 38).

Written `apiVersion/kind/condition=status`, as in `config.openshift.io/v1/ClusterVersion/Progressing=True`.
"""

import re
from dataclasses import dataclass
from typing import Self

_FORM = re.compile(
    r"(?P<api_version>(?:[a-z0-9][-a-z0-9.]*/)?v[a-z0-9]*)"
    r"/(?P<kind>[A-Z][A-Za-z0-9]*)"
    r"/(?P<condition>[A-Za-z0-9][-A-Za-z0-9_./]*)"
    r"=(?P<status>True|False|Unknown)"
)


@dataclass(frozen=True)
class UpgradeSignal:
    """While the condition of an object has this status, the cluster is being upgraded."""

    api_version: str
    kind: str
    condition: str
    status: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """The signal that is written so.

        Raises:
            ValueError: the text has another form.

        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not apiVersion/kind/condition=status")
        return cls(**found.groupdict())

    @property
    def is_always_given(self) -> bool:
        """Whether there is an object with the condition wherever the kind is served.

        OpenShift is never without one, so its absence says nothing (decision 36). Others may set the
        condition at the first upgrade only.
        """
        return self.api_version.partition("/")[0] == "config.openshift.io" and self.kind == "ClusterVersion"

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}/{self.condition}={self.status}"


CLUSTER_VERSION = UpgradeSignal("config.openshift.io/v1", "ClusterVersion", "Progressing", "True")
"""The upgrades of OpenShift."""
