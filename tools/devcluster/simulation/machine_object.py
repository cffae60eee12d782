"""Machines and MachineSets of either machine API, as their simulated controllers read them."""

from pydantic import Field

from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata, OwnerReference

PROVISIONING, PROVISIONED, RUNNING = "Provisioning", "Provisioned", "Running"
DELETING, FAILED = "Deleting", "Failed"

_UID_DIGITS = 8


class MachineObjectMetadata(ObjectMetadata):
    """The metadata of a Machine, with its finalizers."""

    finalizers: tuple[str, ...] = ()


class NodeLabels(FrozenObject):
    """The labels that the Machine has for its Node."""

    labels: dict[str, str] = Field(default_factory=dict)


class MachineObjectSpec(FrozenObject):
    """The wanted state of a Machine, and its provider ID."""

    metadata: NodeLabels = NodeLabels()
    provider_id: str = Field(default="", alias="providerID")


class ReferencedNode(FrozenObject):
    """The reference from a Machine to its Node."""

    name: str = ""
    uid: str = ""


class MachineCondition(FrozenObject):
    """The fields that conditions of all versions have."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class MachineObjectStatus(FrozenObject):
    """The phase of a Machine, the reference to its Node, and its conditions."""

    phase: str = ""
    node_ref: ReferencedNode | None = None
    conditions: tuple[MachineCondition, ...] = ()


class MachineObject(FrozenObject):
    """A Machine of OpenShift or of Cluster API."""

    metadata: MachineObjectMetadata
    spec: MachineObjectSpec = MachineObjectSpec()
    status: MachineObjectStatus = MachineObjectStatus()

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
    def controller(self) -> OwnerReference | None:
        """The owner that replaces it, if there is one."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)

    def condition(self, type_: str) -> MachineCondition:
        """The condition of that type; its status is "" if there is none."""
        found = (condition for condition in self.status.conditions if condition.type == type_)
        return next(found, MachineCondition(type=type_, status=""))


class MachineSetSpec(FrozenObject):
    """The wanted number of Machines; their template is read from the stored object."""

    replicas: int = 1


class MachineSetStatus(FrozenObject):
    """The numbers of Machines; None before the first report."""

    replicas: int | None = None
    ready_replicas: int | None = None
    available_replicas: int | None = None


class MachineSetObject(FrozenObject):
    """A MachineSet of OpenShift or of Cluster API."""

    metadata: ObjectMetadata
    spec: MachineSetSpec = MachineSetSpec()
    status: MachineSetStatus = MachineSetStatus()
