"""The steps of a Machine's controller, OpenShift's machine API and Cluster API.

OpenShift's machine API is derived from Cluster API, so one controller simulates both. They differ in the link
between a Machine and its Node, in the status, and in the content of a new Machine.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from devcluster.simulation.controller import NoAction
from devcluster.simulation.machine_object import (
    PROVISIONED,
    RUNNING,
    MachineCondition,
    MachineObject,
    ReferencedNode,
    Version,
    with_condition,
)
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from health.model.node import Node
from kube.resource import Object, Resource
from objects.timestamps import stamp


@dataclass(frozen=True)
class RequeueAfter:
    """The provider needs this much more time."""

    duration: timedelta


@dataclass(frozen=True)
class AddFinalizer:
    """Add our finalizer, so that the Machine stays until its Node is deleted."""


@dataclass(frozen=True)
class UpdatePhase:
    """Write the phase of the Machine, and its Node."""

    phase: str
    node: ReferencedNode | None = None


@dataclass(frozen=True)
class SwitchOn:
    """Give it hardware, and record the provider's ID of that."""


@dataclass(frozen=True)
class LinkNode:
    """Write the name of the Machine on its Node, with the labels that the Machine has for it."""

    uid: str


@dataclass(frozen=True)
class SwitchOff:
    """Remove its hardware, and report the phase Deleting."""


@dataclass(frozen=True)
class DeleteNode:
    """Delete the Node that its hardware had registered."""

    uid: str


@dataclass(frozen=True)
class RemoveFinalizer:
    """Remove our finalizer, so that the Machine can go."""


Step = (
    NoAction
    | RequeueAfter
    | AddFinalizer
    | UpdatePhase
    | SwitchOn
    | LinkNode
    | SwitchOff
    | DeleteNode
    | RemoveFinalizer
)


class MachineApi(Protocol):
    """One of the machine APIs in one version."""

    @property
    def machines(self) -> Resource: ...

    @property
    def machine_sets(self) -> Resource: ...

    @property
    def version(self) -> Version:
        """The version of Cluster API whose conditions have the same form."""
        ...

    @property
    def finalizer(self) -> str:
        """The finalizer that keeps a Machine until its Node is deleted."""
        ...

    @property
    def replaces_marked(self) -> bool:
        """True if a MachineSet replaces Machines that are marked for their owner."""
        ...

    def next_link(self, machine: MachineObject, node: Node) -> Step:
        """The next step to link a Machine with hardware and its Node."""
        ...

    def status(self, report: UpdatePhase, stored: Object, now: datetime) -> Object:
        """The changed fields of the status of a stored Machine."""
        ...

    def identity(self, machine_set: Object) -> tuple[dict[str, str], Object]:
        """Labels and fields of the spec that each Machine of a stored set gets beside its template."""
        ...


NODE_ANNOTATION = "machine.openshift.io/machine"
"""On a Node: namespace and name of its Machine."""


@dataclass(frozen=True, kw_only=True)
class OpenShiftApi:
    """OpenShift's machine API: its Node names the Machine, and the Machine refers to the Node by its uid."""

    machines: Resource = MACHINES
    machine_sets: Resource = MACHINE_SETS
    version: Version = "v1beta1"
    finalizer: str = "machine.machine.openshift.io"
    replaces_marked: bool = False

    def next_link(self, machine: MachineObject, node: Node) -> Step:
        """First the Node names its Machine, then the Machine reports the Node."""
        missing = machine.spec.metadata.labels.items() - node.metadata.labels.items()
        if missing or node.metadata.annotations.machine != machine.full_name:
            return LinkNode(node.metadata.uid)
        reference = ReferencedNode(name=node.metadata.name, uid=node.metadata.uid)
        is_reported = (machine.status.phase, machine.status.node_ref) == (RUNNING, reference)
        return NoAction() if is_reported else UpdatePhase(RUNNING, reference)

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

    def next_link(self, machine: MachineObject, node: Node) -> Step:
        """The Machine reports the name of its Node."""
        reference = machine.status.node_ref
        if machine.status.phase == RUNNING and reference and reference.name == node.metadata.name:
            return NoAction()
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
