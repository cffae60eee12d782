"""Resources of the API server, and the paths of their objects."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from objects.group_kind import ServedKind

Object = dict[str, Any]
"""An object as JSON, for writes and for kinds without a model."""


@dataclass(frozen=True)
class Resource:
    """A kind in one version of an API group, with its plural."""

    api_version: str
    """Group and version ("coordination.k8s.io/v1"), or only the version for the core group ("v1")."""
    kind: str
    plural: str
    namespaced: bool

    @property
    def group(self) -> str:
        """The API group; "" for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def full_name(self) -> str:
        """The plural, with the group except for the core group: "leases.coordination.k8s.io"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str | None = None, subresource: str | None = None) -> str:
        """The path of one object, or without `name` of a collection.

        A namespaced kind without `namespace` gives the collection of all namespaces.
        """
        root = group_version_path(self.api_version)
        within = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced and namespace else ""
        parts = [self.plural, *(quote(part, safe="") for part in (name, subresource) if part)]
        return f"{root}{within}/{'/'.join(parts)}"


def resource_of(kind: ServedKind) -> Resource:
    """The resource of a kind in the version that we prefer."""
    return Resource(kind.api_version, kind.kind, kind.plural, kind.is_namespaced)


def group_version_path(api_version: str) -> str:
    """The path of a group version; the core group has a root of its own."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


NODES = Resource("v1", "Node", "nodes", namespaced=False)
PODS = Resource("v1", "Pod", "pods", namespaced=True)
EVENTS = Resource("v1", "Event", "events", namespaced=True)
KUBE_SYSTEM = "kube-system"
"""The uid of this namespace identifies a cluster."""
NAMESPACES = Resource("v1", "Namespace", "namespaces", namespaced=False)
SECRETS = Resource("v1", "Secret", "secrets", namespaced=True)
CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps", namespaced=True)
LEASES = Resource("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)
