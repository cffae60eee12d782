"""Machines and MachineSets of OpenShift's machine API, as their simulated controllers read them."""

from typing import Any

from pydantic import Field

from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata, OwnerReference

FINALIZER = "machine.machine.openshift.io"
NODE_ANNOTATION = "machine.openshift.io/machine"
"""On a Node: namespace and name of its Machine."""

PROVISIONING, PROVISIONED, RUNNING = "Provisioning", "Provisioned", "Running"
DELETING, FAILED = "Deleting", "Failed"

_UID_DIGITS = 8


class MachineMetadata(ObjectMetadata):
    """The metadata of a Machine, with its finalizers."""

    finalizers: tuple[str, ...] = ()


class NodeMetadata(FrozenObject):
    """The labels that the Machine has for its Node."""

    labels: dict[str, str] = Field(default_factory=dict)


class MachineSpec(FrozenObject):
    """The wanted state of a Machine, and its provider ID."""

    metadata: NodeMetadata = NodeMetadata()
    provider_id: str = Field(default="", alias="providerID")


class NodeReference(FrozenObject):
    """The reference from a Machine to its Node."""

    name: str = ""
    uid: str = ""


class MachineStatus(FrozenObject):
    """The phase of a Machine and the reference to its Node."""

    phase: str = ""
    node_ref: NodeReference | None = None


class OpenShiftMachine(FrozenObject):
    """A Machine of OpenShift, as its simulated controllers read it."""

    metadata: MachineMetadata
    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()

    @property
    def node_name(self) -> str:
        """The name of its Node: not the Machine's own, as with most providers, and unique."""
        return f"node-{self.metadata.uid.replace('-', '')[:_UID_DIGITS]}"

    @property
    def full_name(self) -> str:
        """Namespace and name, as in the annotation of its Node."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def is_being_deleted(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def has_our_finalizer(self) -> bool:
        """True if our finalizer is among those that keep it."""
        return FINALIZER in self.metadata.finalizers

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that replaces it, if there is one."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)


class TemplateMetadata(FrozenObject):
    """Labels and annotations that each Machine of a set gets."""

    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class MachineTemplate(FrozenObject):
    """The template of the Machines of a set."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: dict[str, Any] = Field(default_factory=dict)


class MachineSetSpec(FrozenObject):
    """The wanted number of Machines, and their template."""

    replicas: int = 1
    template: MachineTemplate = MachineTemplate()


class MachineSetStatus(FrozenObject):
    """The numbers of Machines; None before the first report."""

    replicas: int | None = None
    ready_replicas: int | None = None
    available_replicas: int | None = None


class OpenShiftMachineSet(FrozenObject):
    """A MachineSet of OpenShift, as its simulated controllers read it."""

    metadata: ObjectMetadata
    spec: MachineSetSpec = MachineSetSpec()
    status: MachineSetStatus = MachineSetStatus()
