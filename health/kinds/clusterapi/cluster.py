"""Cluster: the fields of a Cluster that checks use, and all Clusters as one value.

Two conditions and the pause are kept. Other fields change often, and so does the resourceVersion, which is
not compared. A workload cluster is named `<namespace>/<name>`; its kubeconfig is where Cluster API stores
it.

The metadata of a check names its Cluster (CAPI B.1): by the label that selects everything of a Cluster, and
by an owner reference, through which the check is deleted with the Cluster. Other owners and labels stay
unchanged.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.clusterapi.conditions import Condition, served_conditions
from health.kinds.clusterapi.group import CLUSTER_NAME, GROUP, VERSIONS
from health.kinds.machines.machine import PART
from health.model.stored_status import items, string
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from objects.frozen import FrozenObject
from objects.group_kind import GroupKind, ServedKind
from objects.metadata import ObjectMetadata

KIND = "Cluster"
CLUSTERS = ServedKind(group=GROUP, kind=KIND, plural="clusters", versions=VERSIONS, is_namespaced=True)
CHECK = GroupKind(GROUP, "MachineHealthCheck")
"""The kind of check whose context the Clusters are."""
CONTROL_PLANE_INITIALIZED = "ControlPlaneInitialized"
INFRASTRUCTURE_READY = "InfrastructureReady"


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class ClusterMetadata:
    """Identity of a Cluster; the resourceVersion is not compared."""

    name: str
    namespace: str
    uid: str
    resource_version: str = dataclasses.field(default="", compare=False)


class ClusterSpec(FrozenObject):
    """The part of its spec that we read."""

    paused: bool | None = None


class ClusterStatus(FrozenObject):
    """The two conditions that gate its checks."""

    control_plane_initialized: Condition | None = None
    infrastructure_ready: Condition | None = None

    @model_validator(mode="before")
    @classmethod
    def _by_type(cls, raw: Any) -> Any:  # noqa: ANN401  as pydantic says
        # A status of v1beta1 may have the flag infrastructureReady and no conditions.
        if not isinstance(raw, Mapping) or raw.keys() <= cls.model_fields.keys():
            return raw
        found = {
            condition.type: dataclasses.replace(condition, reason="") for condition in served_conditions(raw)
        }
        return {
            "control_plane_initialized": found.get(CONTROL_PLANE_INITIALIZED),
            "infrastructure_ready": found.get(INFRASTRUCTURE_READY),
        }


class Cluster(FrozenObject):
    """A Cluster with the fields that checks use."""

    metadata: ClusterMetadata
    spec: ClusterSpec = ClusterSpec()
    status: ClusterStatus = ClusterStatus()

    @property
    def is_paused(self) -> bool:
        """True if the Cluster, and so everything in it, is paused."""
        return self.spec.paused is True

    @property
    def is_control_plane_initialized(self) -> bool:
        """True if there is an API server to read Nodes from; it never becomes False again."""
        return _is_true(self.status.control_plane_initialized)

    @property
    def is_infrastructure_ready(self) -> bool:
        """True if Machines can be expected to start."""
        return _is_true(self.status.infrastructure_ready)

    @property
    def ready_times(self) -> tuple[datetime, ...]:
        """When either condition became true, for those that are."""
        conditions = (self.status.control_plane_initialized, self.status.infrastructure_ready)
        true = (condition for condition in conditions if condition is not None and condition.is_true)
        return tuple(found.last_transition_time for found in true if found.last_transition_time is not None)


@dataclasses.dataclass(frozen=True)
class Clusters:
    """All Clusters of the management cluster, at one moment."""

    by_name: Mapping[tuple[str, str], Cluster] = dataclasses.field(default_factory=dict)
    """By namespace and name."""
    unreadable: int = 0
    """The number of Clusters that cannot be read."""

    @classmethod
    def in_context(cls, context: ClusterContext) -> Self:
        """The Clusters of a context; empty without any."""
        found = context.of_kinds.get(CHECK)
        return found if isinstance(found, cls) else cls()

    def of(self, namespace: str, name: str) -> Cluster | None:
        return self.by_name.get((namespace, name))

    def not_found(self, namespace: str, name: str) -> CheckProblem:
        others = f"; {self.unreadable} Clusters cannot be read" if self.unreadable else ""
        return CheckProblem(CLUSTER_NOT_FOUND, f"Cluster {namespace}/{name} not found{others}")


CLUSTER_NOT_FOUND = "ClusterNotFound"


def judge(clusters: Iterable[Cluster], unreadable: int = 0) -> Clusters:
    by_name = {(cluster.metadata.namespace, cluster.metadata.name): cluster for cluster in clusters}
    return Clusters(by_name, unreadable)


def workload_cluster(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def cluster_of(metadata: ObjectMetadata) -> str:
    """The workload cluster that an object belongs to, by its label."""
    name = metadata.labels.get(CLUSTER_NAME, "")
    if not name or not metadata.namespace:
        return MANAGEMENT_CLUSTER
    return workload_cluster(metadata.namespace, name)


def kubeconfig_secret(cluster: str) -> SecretField:
    namespace, _, name = cluster.partition("/")
    return SecretField(namespace, f"{name}-kubeconfig", "value")


def metadata_patch(metadata: Mapping[str, Any], api_version: str, cluster: Cluster) -> dict[str, Any]:
    """The patch by which the raw `metadata` of a check names its Cluster; empty if it does."""
    patch: dict[str, Any] = {}
    labels = metadata.get("labels")
    if not isinstance(labels, Mapping) or labels.get(CLUSTER_NAME) != cluster.metadata.name:
        patch["labels"] = {CLUSTER_NAME: cluster.metadata.name}
    owners = items(metadata, "ownerReferences")
    if not any(_is_owner(owner) and string(owner, "uid") == cluster.metadata.uid for owner in owners):
        # A reference to an earlier Cluster of that name would get the check garbage-collected.
        named = cluster.metadata
        others = [owner for owner in owners if not (_is_owner(owner) and string(owner, "name") == named.name)]
        own = {"apiVersion": api_version, "kind": KIND, "name": named.name, "uid": named.uid}
        patch["ownerReferences"] = [*others, own]
    return patch


def _is_owner(reference: Mapping[str, Any]) -> bool:
    """True for a Cluster, in any version of the reference."""
    group = string(reference, "apiVersion").partition("/")[0]
    return (group, string(reference, "kind")) == (GROUP, KIND)


def _is_true(condition: Condition | None) -> bool:
    return condition is not None and condition.is_true
