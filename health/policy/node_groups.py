"""The groups of Nodes that may fail together: a cluster, its regions and zones, and domains by other labels.

A zone is the pair of region and zone, because regions may have zones of the same name. A Node may have a
region and no zone. It is in all groups that its labels name.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from health.model.node import REGION_LABEL, ZONE_LABEL
from objects.clusters import MANAGEMENT_CLUSTER

NO_LABELS: Mapping[str, str] = {}
_DEPRECATED = {
    REGION_LABEL: "failure-domain.beta.kubernetes.io/region",
    ZONE_LABEL: "failure-domain.beta.kubernetes.io/zone",
}


class NodeGroup(NamedTuple):
    """Nodes that share one path of monitoring: those of a cluster, or of one of its domains."""

    cluster: str = MANAGEMENT_CLUSTER
    label: str | None = None
    """The label by which they are a domain; None: all Nodes of the cluster."""
    value: str = ""
    """The value of that label; for a zone in a region `region/zone`."""

    @property
    def domain(self) -> str:
        """The label and its value, as in a selector; "" for a cluster."""
        return "" if self.label is None else f"{self.label}={self.value}"

    @property
    def key(self) -> str:
        """A unique string: a cluster is `namespace/name` or "", and a name of a label has no `=`."""
        return f"{self.cluster}/{self.domain}"

    def __str__(self) -> str:
        cluster = f"the workload cluster {self.cluster}" if self.cluster else "the cluster"
        region, _, zone = self.value.rpartition("/")
        match self.label:
            case None:
                return cluster
            case label if label == REGION_LABEL:
                return f"the region {self.value} of {cluster}"
            case label if label == ZONE_LABEL:
                return f"the zone {zone} of {f'the region {region} of ' if region else ''}{cluster}"
            case label:
                return f"the domain {f'{label}={self.value}' if self.value else label} of {cluster}"


def is_group_key(key: str) -> bool:
    """True for the key of a group; a cluster (`namespace/name` or "") has one slash less."""
    return key.startswith("/") or key.endswith("/") or key.count("/") > 1


def groups_of(cluster: str, labels: Mapping[str, str], others: Iterable[str]) -> tuple[NodeGroup, ...]:
    """All groups of a Node with these labels; `others` names labels of domains beside region and zone."""
    domains = (domain_of(cluster, label, labels) for label in dict.fromkeys((*_DEPRECATED, *others)))
    return (NodeGroup(cluster), *(domain for domain in domains if domain is not None))


def domain_of(cluster: str, label: str, labels: Mapping[str, str]) -> NodeGroup | None:
    """The domain by `label` of a Node with these labels; None without the label."""
    if label not in _DEPRECATED:
        return NodeGroup(cluster, label, labels[label]) if label in labels else None
    value, region = (
        labels.get(name) or labels.get(_DEPRECATED[name]) or "" for name in (label, REGION_LABEL)
    )
    if not value:
        return None
    return NodeGroup(cluster, label, f"{region}/{value}" if region and label == ZONE_LABEL else value)
