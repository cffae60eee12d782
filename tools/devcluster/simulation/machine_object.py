"""Machines and MachineSets of either machine API, as their simulated controllers read them.

Two conditions ask the owner of a Machine to remediate it. In v1beta2 a condition has a reason and a message;
in v1beta1 a False one also has a severity, and an empty message is omitted. `lastTransitionTime` stays while
the status is the same.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from kube.resource import Object
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata, OwnerReference
from objects.timestamps import stamp

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


HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED = "HealthCheckSucceeded", "OwnerRemediated"
MACHINE_DELETING, REMEDIATION_DEFERRED = "MachineDeleting", "RemediationDeferred"

Version = Literal["v1beta2", "v1beta1"]


def deletion(version: Version) -> MachineCondition:
    """The condition before a marked Machine is deleted; in v1beta1 it ends the mark."""
    return MachineCondition(
        type=OWNER_REMEDIATED,
        status="True" if version == "v1beta1" else "False",
        reason=MACHINE_DELETING,
        message="Machine deletion in progress",
    )


def with_condition(
    shown: Sequence[Object], new: MachineCondition, version: Version, now: datetime
) -> list[Object]:
    """The conditions with `new` in place of the one of its type."""
    before = next((condition for condition in shown if condition["type"] == new.type), None)
    is_same = before is not None and before["status"] == new.status
    since = before["lastTransitionTime"] if before is not None and is_same else stamp(now)
    condition: Object = {"type": new.type, "status": new.status, "lastTransitionTime": since}
    condition |= {"reason": new.reason, "message": new.message}
    if version == "v1beta1":
        condition = {field: value for field, value in condition.items() if value}
        condition |= {"severity": "Warning"} if new.status == "False" else {}
    others = without_condition(shown, new.type)
    return [*others, condition]


def without_condition(shown: Sequence[Object], type_: str) -> list[Object]:
    return [condition for condition in shown if condition["type"] != type_]
