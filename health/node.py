"""Node: the slim picture of a Kubernetes Node that verdicts are made from.

Heartbeat times, reasons and messages are left out on purpose: two Nodes that differ in those alone are equal
but for their resourceVersion, so a heartbeat changes nothing. Of the annotations only those that we honour
are kept.
"""

from pydantic import AwareDatetime, Field

from health.frozen import FrozenObject

CONTROL_PLANE_LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
EXCLUDE_LABEL = "remediation.medik8s.io/exclude-from-remediation"


class NodeCondition(FrozenObject):
    """One condition of a Node's status."""

    type: str
    status: str
    last_transition_time: AwareDatetime | None = None


class NodeAnnotations(FrozenObject):
    """The annotations of a Node that we honour."""

    machine: str = Field(default="", alias="machine.openshift.io/machine")


class NodeMetadata(FrozenObject):
    """Identity and labels of a Node."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str = ""
    creation_timestamp: AwareDatetime
    deletion_timestamp: AwareDatetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: NodeAnnotations = NodeAnnotations()


class NodeStatus(FrozenObject):
    """The part of a Node's status that we read."""

    conditions: tuple[NodeCondition, ...] = ()


class Node(FrozenObject):
    """A Node as verdicts see it."""

    metadata: NodeMetadata
    status: NodeStatus = NodeStatus()

    @property
    def is_control_plane(self) -> bool:
        """Whether one of the control-plane labels is there, whatever its value."""
        return any(label in self.metadata.labels for label in CONTROL_PLANE_LABELS)

    @property
    def is_excluded(self) -> bool:
        """Whether a person excluded the node; only the exact value "true" does."""
        return self.metadata.labels.get(EXCLUDE_LABEL) == "true"
