"""Kinds as the API server serves them: where their objects live in its paths."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from objects.group_kind import ServedKind

Object = dict[str, Any]
"""An object as JSON, for what we write and for kinds that we do not know."""


@dataclass(frozen=True)
class Resource:
    """One kind of one version of one group."""

    api_version: str
    """Group and version ("coordination.k8s.io/v1"), or the version alone for the core group ("v1")."""
    kind: str
    plural: str
    namespaced: bool

    @property
    def group(self) -> str:
        """The group; "" for the core's."""
        return self.api_version.rpartition("/")[0]

    @property
    def full_name(self) -> str:
        """The plural, with the group where it is not the core's: "leases.coordination.k8s.io"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of one object, or without `name` of a collection.

        A namespaced kind without `namespace` gives the collection of all namespaces.
        """
        root = group_version_path(self.api_version)
        within = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced and namespace else ""
        parts = [self.plural, *(quote(part, safe="") for part in (name, subresource) if part)]
        return f"{root}{within}/{'/'.join(parts)}"


def resource_of(kind: ServedKind) -> Resource:
    """Where the objects of a kind are, in the version that we like best."""
    return Resource(kind.api_version, kind.kind, kind.plural, kind.is_namespaced)


def group_version_path(api_version: str) -> str:
    """Return the path under which a group version is served; the core group has its own root."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


NODES = Resource("v1", "Node", "nodes", namespaced=False)
PODS = Resource("v1", "Pod", "pods", namespaced=True)
EVENTS = Resource("v1", "Event", "events", namespaced=True)
KUBE_SYSTEM = "kube-system"
"""The namespace whose uid tells a cluster from any other."""
NAMESPACES = Resource("v1", "Namespace", "namespaces", namespaced=False)
SERVICE_ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
_ADMISSION = "admissionregistration.k8s.io/v1"
ADMISSION_POLICIES = Resource(
    _ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
ADMISSION_POLICY_BINDINGS = Resource(
    _ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", namespaced=False
)
SECRETS = Resource("v1", "Secret", "secrets", namespaced=True)
CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps", namespaced=True)
LEASES = Resource("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)
