"""The objects of two machine APIs, and how the APIs differ: OpenShift's machine API and Cluster API.

OpenShift's machine API is derived from Cluster API, so one controller simulates both. They differ in the link
between a Machine and its Node, in the status, and in the content of a new Machine.

Two conditions ask the owner of a Machine to remediate it. In v1beta2 a condition has a reason and a message;
in v1beta1 a False one also has a severity, and an empty message is omitted. `lastTransitionTime` stays while
the status is the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field

from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from health.model.node import Node
from kube.resource import Object, Resource
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


@dataclass(frozen=True)
class SetFinalizers:
    """Write the finalizers of the Machine: ours, and those of others."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True)
class UpdatePhase:
    """Write the phase of the Machine, and its Node."""

    phase: str
    node: ReferencedNode | None = None


@dataclass(frozen=True)
class CreateNode:
    """Switch on its hardware, which registers a Node, and record the provider's ID of that."""


@dataclass(frozen=True)
class LinkNode:
    """Write the name of the Machine on its Node, with the labels that the Machine has for it."""

    uid: str


@dataclass(frozen=True)
class DeleteNode:
    """Take away its hardware with the Node."""

    uid: str


Step = SetFinalizers | UpdatePhase | CreateNode | LinkNode | DeleteNode


NODE_ANNOTATION = "machine.openshift.io/machine"
"""On a Node: namespace and name of its Machine."""


@dataclass(frozen=True, kw_only=True)
class OpenShiftApi:
    """OpenShift's machine API: its Node names the Machine, and the Machine refers to the Node by its uid."""

    machines: Resource = MACHINES
    machine_sets: Resource = MACHINE_SETS
    version: Version = "v1beta1"
    """The version of Cluster API whose conditions have the same form."""
    finalizer: str = "machine.machine.openshift.io"
    """Keeps a Machine until its Node is deleted."""
    replaces_marked: bool = False
    """True if a MachineSet replaces Machines that are marked for their owner."""

    def next_link(self, machine: MachineObject, node: Node) -> Step | None:
        """First the Node names its Machine, then the Machine reports the Node."""
        missing = machine.spec.metadata.labels.items() - node.metadata.labels.items()
        if missing or node.metadata.annotations.machine != machine.full_name:
            return LinkNode(node.metadata.uid)
        reference = ReferencedNode(name=node.metadata.name, uid=node.metadata.uid)
        is_reported = (machine.status.phase, machine.status.node_ref) == (RUNNING, reference)
        return None if is_reported else UpdatePhase(RUNNING, reference)

    def status(self, report: UpdatePhase, stored: Object, now: datetime) -> Object:  # noqa: ARG002  of all APIs
        """The phase, when it was written, and the Node if the report names one."""
        status: Object = {"phase": report.phase, "lastUpdated": stamp(now)}
        if report.node is not None:
            status["nodeRef"] = {"kind": "Node", "name": report.node.name, "uid": report.node.uid}
        return status

    def identity(self, machine_set: Object) -> tuple[dict[str, str], Object]:  # noqa: ARG002  of all APIs
        """Nothing: a Machine is as its template."""
        return {}, {}


def link(machine: MachineObject, node_uid: str) -> Object:
    """A patch that names the Machine on its Node."""
    annotations, labels = {NODE_ANNOTATION: machine.full_name}, machine.spec.metadata.labels
    return {"metadata": {"uid": node_uid, "annotations": annotations, "labels": labels}}


GROUP = "cluster.x-k8s.io"
CLUSTER_NAME, SET_NAME = f"{GROUP}/cluster-name", f"{GROUP}/set-name"
INFRASTRUCTURE_READY = MachineCondition(
    type="InfrastructureReady", status="True", reason="Ready", message="The simulated hardware runs."
)


@dataclass(frozen=True)
class ClusterApi:
    """Cluster API in one version: the Nodes of its Machines are in a workload cluster.

    Only the Machine's nodeRef, a name in the other cluster, links Machine and Node.
    """

    version: Version
    finalizer: str = "machine.cluster.x-k8s.io"
    replaces_marked: bool = True

    @property
    def clusters(self) -> Resource:
        return self._resource("Cluster", "clusters")

    @property
    def machines(self) -> Resource:
        return self._resource("Machine", "machines")

    @property
    def machine_sets(self) -> Resource:
        return self._resource("MachineSet", "machinesets")

    @property
    def machine_health_checks(self) -> Resource:
        return self._resource("MachineHealthCheck", "machinehealthchecks")

    def next_link(self, machine: MachineObject, node: Node) -> Step | None:
        """The Machine reports the name of its Node."""
        reference = machine.status.node_ref
        if machine.status.phase == RUNNING and reference and reference.name == node.metadata.name:
            return None
        return UpdatePhase(RUNNING, ReferencedNode(name=node.metadata.name))

    def status(self, report: UpdatePhase, stored: Object, now: datetime) -> Object:
        """The phase, the Node if the report names one, and with hardware a condition."""
        status: Object = {"phase": report.phase}
        if report.node is not None:
            status["nodeRef"] = {"name": report.node.name}
        if report.phase == PROVISIONED:
            shown = stored.get("status", {}).get("conditions", [])
            status["conditions"] = with_condition(shown, INFRASTRUCTURE_READY, self.version, now)
        return status

    def identity(self, machine_set: Object) -> tuple[dict[str, str], Object]:
        """The names of the cluster and of the set."""
        cluster = machine_set["spec"]["clusterName"]
        labels = {CLUSTER_NAME: cluster, SET_NAME: machine_set["metadata"]["name"]}
        return labels, {"clusterName": cluster}

    def _resource(self, kind: str, plural: str) -> Resource:
        return Resource(f"{GROUP}/{self.version}", kind, plural, namespaced=True)


MachineApi = OpenShiftApi | ClusterApi
