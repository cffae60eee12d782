"""A Machine of OpenShift's machine API, slim, and with its Node as one target, which satisfies Target.

The annotations by which people exclude or confirm Nodes are those of NodeHealthCheck and mean nothing here,
nor has a Machine to wait for the control-plane lock (MHC A.1, MHC A.2.5).
"""

import dataclasses

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from health.model.node import Node
from health.model.target import Target
from objects.bounds import Time
from objects.clusters import MANAGEMENT_CLUSTER
from objects.frozen import FrozenObject
from objects.group_kind import ServedKind

GROUP, VERSION = "machine.openshift.io", "v1beta1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "Machine"
MACHINES = ServedKind(group=GROUP, kind=KIND, plural="machines", versions=(VERSION,), is_namespaced=True)
EXTERNAL_REMEDIATION = "host.metal3.io/external-remediation"
_PART = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class MachineAnnotations:
    """The annotations of a Machine that we honour."""

    external_remediation: str | None = Field(default=None, alias="host.metal3.io/external-remediation")


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class MachineOwner:
    """One owner of a Machine."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class MachineMetadata:
    """Identity, labels and owners of a Machine."""

    name: str
    namespace: str
    uid: str
    resource_version: str = ""
    creation_timestamp: Time
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: MachineAnnotations = MachineAnnotations()
    owner_references: tuple[MachineOwner, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeReference:
    """status.nodeRef."""

    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class MachineStatus:
    """The part of a Machine's status that we read."""

    phase: str = ""
    node_ref: NodeReference | None = None
    last_updated: Time | None = None


class Machine(FrozenObject):
    """A Machine as verdicts see it."""

    metadata: MachineMetadata
    status: MachineStatus = MachineStatus()

    @property
    def node_name(self) -> str:
        """The Node that it was linked to; "" while there is none."""
        return self.status.node_ref.name if self.status.node_ref else ""

    @property
    def node_cluster(self) -> str:
        """Its own cluster."""
        return MANAGEMENT_CLUSTER

    @property
    def has_failed(self) -> bool:
        """Whether its provider gave it up."""
        return self.status.phase == "Failed"

    @property
    def is_going(self) -> bool:
        """Whether it is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_marked(self) -> bool:
        """Whether it is annotated for external remediation, whatever the value."""
        return self.metadata.annotations.external_remediation is not None

    @property
    def controller(self) -> MachineOwner | None:
        """The owner that replaces it when it is deleted; None if nobody does."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)


@dataclasses.dataclass(frozen=True, slots=True)
class MachineTarget(Target):
    """One Machine, at one moment."""

    machine: Machine
    node: Node | None = None
    """The Node that it is linked to, if that is there."""

    @property
    def metadata(self) -> MachineMetadata:
        """The Machine's."""
        return self.machine.metadata

    @property
    def replaced_by(self) -> str:
        """Its controller: a MachineSet, or what else makes Machines."""
        controller = self.machine.controller
        return f"{controller.kind}/{controller.name}" if controller else ""

    @property
    def node_name(self) -> str:
        """The Node that it was linked to, there or not; "" while there is none."""
        return self.machine.node_name

    @property
    def is_marked(self) -> bool:
        """Whether it is annotated for external remediation."""
        return self.machine.is_marked

    @property
    def has_lost_its_node(self) -> bool:
        """Whether it was linked to a Node that is not there (any more)."""
        return bool(self.node_name) and self.node is None
