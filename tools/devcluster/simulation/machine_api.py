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

    def node_patch(self, machine: MachineObject, node: Node) -> Object | None:
        """The patch that names the Machine on its Node, with the labels for it; None if both are there."""
        metadata, labels = node.metadata, machine.spec.metadata.labels
        if metadata.annotations.machine == machine.full_name and labels.items() <= metadata.labels.items():
            return None
        annotations = {NODE_ANNOTATION: machine.full_name}
        return {"metadata": {"uid": metadata.uid, "annotations": annotations, "labels": labels}}

    def reference(self, node: Node) -> ReferencedNode:
        """The reference by which a Machine reports its Node."""
        return ReferencedNode(name=node.metadata.name, uid=node.metadata.uid)

    def status(self, phase: str, node: ReferencedNode | None, _stored: Object, now: datetime) -> Object:
        """The phase, when it was written, and the Node unless it is None."""
        status: Object = {"phase": phase, "lastUpdated": stamp(now)}
        if node is not None:
            status["nodeRef"] = {"kind": "Node", "name": node.name, "uid": node.uid}
        return status

    def identity(self, machine_set: Object) -> tuple[dict[str, str], Object]:  # noqa: ARG002  of all APIs
        """Nothing: a Machine is as its template."""
        return {}, {}


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

    def node_patch(self, _machine: MachineObject, _node: Node) -> Object | None:
        """None: a Node does not name its Machine."""
        return None

    def reference(self, node: Node) -> ReferencedNode:
        """The name of the Node in its own cluster."""
        return ReferencedNode(name=node.metadata.name)

    def status(self, phase: str, node: ReferencedNode | None, stored: Object, now: datetime) -> Object:
        """The phase, the Node unless it is None, and with hardware a condition."""
        status: Object = {"phase": phase}
        if node is not None:
            status["nodeRef"] = {"name": node.name}
        if phase == PROVISIONED:
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
