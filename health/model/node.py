"""Node: the slim copy of a Kubernetes Node that verdicts are made from.

Heartbeat times and messages are left out on purpose, and reasons are not compared: two Nodes that differ in
those alone are equal but for their resourceVersion, so a heartbeat changes nothing. Of the annotations only
those that we honour are kept. The parts have slots: a large cluster has a hundred thousand of them.
"""

import dataclasses
from datetime import datetime
from typing import Annotated

from pydantic import AliasPath, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from objects.bounds import Time
from objects.clusters import MANAGEMENT_CLUSTER
from objects.fail_fast import FailFast
from objects.frozen import FrozenObject
from objects.group_kind import ServedKind

CONTROL_PLANE_LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
CONFIRMED_HEALTHY = "remediation.medik8s.io/manually-confirmed-healthy"
EXCLUDE_LABEL = "remediation.medik8s.io/exclude-from-remediation"
ZONE_LABEL = "topology.kubernetes.io/zone"
NODES = ServedKind(group="", kind="Node", plural="nodes", versions=("v1",), is_namespaced=False)
_PART = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeCondition:
    """One condition of a Node's status."""

    type: str
    status: str
    last_transition_time: Time | None = None
    reason: str = dataclasses.field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeAnnotations:
    """The annotations of a Node that we honour."""

    machine: str = Field(default="", alias="machine.openshift.io/machine")
    confirmed_healthy: str | None = Field(
        default=None, alias="remediation.medik8s.io/manually-confirmed-healthy"
    )
    current_config: str = Field(default="", alias="machineconfiguration.openshift.io/currentConfig")
    desired_config: str = Field(default="", alias="machineconfiguration.openshift.io/desiredConfig")


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeMetadata(FailFast):
    """Identity and labels of a Node."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str = ""
    creation_timestamp: Time
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: NodeAnnotations = NodeAnnotations()


def _keys(taints: object) -> object:
    """Their keys: what else they say does not matter here."""
    if not isinstance(taints, list):
        return taints or ()
    return tuple(taint.get("key", "") if isinstance(taint, dict) else taint for taint in taints)


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeSpec(FailFast):
    """By what others say that they work on a Node."""

    unschedulable: bool = False
    taints: Annotated[tuple[str, ...], BeforeValidator(_keys)] = ()


NO_SPEC = NodeSpec()


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeStatus(FailFast):
    """The part of a Node's status that we read."""

    conditions: tuple[NodeCondition, ...] = ()
    boot_id: Annotated[str, Field(validation_alias=AliasPath("nodeInfo", "bootID"))] = ""


class Node(FrozenObject):
    """A Node as verdicts see it."""

    metadata: NodeMetadata
    spec: NodeSpec = NO_SPEC
    status: NodeStatus = NodeStatus()

    @property
    def node_spec(self) -> NodeSpec:
        """Its own."""
        return self.spec

    @property
    def node_name(self) -> str:
        """Its own."""
        return self.metadata.name

    @property
    def node_cluster(self) -> str:
        """Its own: checks of Nodes are where these are."""
        return MANAGEMENT_CLUSTER

    def node_label(self, name: str) -> str | None:
        """The value of its label; "" where it has none."""
        return self.metadata.labels.get(name, "")

    @property
    def node_zone(self) -> str:
        """The zone that it says it is in; "": none."""
        return self.metadata.labels.get(ZONE_LABEL, "")

    @property
    def boot_id(self) -> str:
        """Tells one boot of its machine from another; "" where its kubelet does not say."""
        return self.status.boot_id

    @property
    def silent_since(self) -> datetime | None:
        """Since when its kubelet is not heard (Ready=Unknown); None where it is."""
        found = next((one for one in self.status.conditions if one.type == "Ready"), None)
        if found is None or found.status != "Unknown":
            return None
        return found.last_transition_time or self.metadata.creation_timestamp

    @property
    def replaced_by(self) -> str:
        """Nothing, as far as we know."""
        return ""

    @property
    def is_control_plane(self) -> bool:
        """Whether one of the control-plane labels is there, whatever its value."""
        return any(label in self.metadata.labels for label in CONTROL_PLANE_LABELS)

    @property
    def is_confirmed_healthy(self) -> bool:
        """Whether a person marked it as healthy, whatever the value of the mark."""
        return self.metadata.annotations.confirmed_healthy is not None

    @property
    def is_excluded(self) -> bool:
        """Whether a person excluded the node; only the exact value "true" does."""
        return self.metadata.labels.get(EXCLUDE_LABEL) == "true"

    @property
    def has_empty_exclusion(self) -> bool:
        """Whether the label to exclude it is there without a value, which excludes nothing."""
        return self.metadata.labels.get(EXCLUDE_LABEL) == ""

    @property
    def is_marked(self) -> bool:
        """Never: what is asked for a Node is asked by a request."""
        return False

    @property
    def configuration_to_come(self) -> str:
        """What the machine config operator is changing its configuration to, "" if it is not (NHC 2.1/10)."""
        annotations = self.metadata.annotations
        return "" if annotations.desired_config == annotations.current_config else annotations.desired_config
