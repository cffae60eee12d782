"""A Machine of OpenShift's machine API, as the stand-in for its controllers reads it.

A MachineSet of OpenShift's machine API, as the stand-in for its controllers reads it.
"""

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
    """Identity, and what keeps the Machine when it is deleted."""

    finalizers: tuple[str, ...] = ()


class NodeMetadata(FrozenObject):
    """What the Node gets."""

    labels: dict[str, str] = Field(default_factory=dict)


class MachineSpec(FrozenObject):
    """What is asked for."""

    metadata: NodeMetadata = NodeMetadata()
    provider_id: str = Field(default="", alias="providerID")


class NodeReference(FrozenObject):
    """Which Node the Machine became."""

    name: str = ""
    uid: str = ""


class MachineStatus(FrozenObject):
    """How far the Machine is."""

    phase: str = ""
    node_ref: NodeReference | None = None


class OpenShiftMachine(FrozenObject):
    """A Machine."""

    metadata: MachineMetadata
    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()

    @property
    def node_name(self) -> str:
        """Name of its Node: another than its own, as with most providers, and another for each Machine."""
        return f"node-{self.metadata.uid.replace('-', '')[:_UID_DIGITS]}"

    @property
    def full_name(self) -> str:
        """Its namespace and name, as its Node is annotated with them."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def is_being_deleted(self) -> bool:
        """Whether only finalizers keep it."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_ours_to_let_go(self) -> bool:
        """Whether our finalizer is among those that keep it."""
        return FINALIZER in self.metadata.finalizers

    @property
    def controller(self) -> OwnerReference | None:
        """What replaces it when it goes."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)


class TemplateMetadata(FrozenObject):
    """What each Machine gets beside its name."""

    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class MachineTemplate(FrozenObject):
    """What each Machine is made from."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: dict[str, Any] = Field(default_factory=dict)


class MachineSetSpec(FrozenObject):
    """What is asked for."""

    replicas: int = 1
    template: MachineTemplate = MachineTemplate()


class MachineSetStatus(FrozenObject):
    """The numbers that are shown; None while there never were any."""

    replicas: int | None = None
    ready_replicas: int | None = None
    available_replicas: int | None = None


class OpenShiftMachineSet(FrozenObject):
    """A MachineSet."""

    metadata: ObjectMetadata
    spec: MachineSetSpec = MachineSetSpec()
    status: MachineSetStatus = MachineSetStatus()
