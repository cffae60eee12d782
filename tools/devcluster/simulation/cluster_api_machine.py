"""A Machine of Cluster API, and how it gets its Node in the workload cluster.

OpenShift's machine API is derived from Cluster API, so both have the same shape here: this Machine extends
the other, with its own finalizer, and conditions in the form of the served version. Only the Machine's
nodeRef, a name in the other cluster, links Machine and Node.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from devcluster.simulation.machine import Step, UpdatePhase
from devcluster.simulation.machine import next_step as next_step_of_machine
from devcluster.simulation.no_action import NoAction
from devcluster.simulation.openshift_machine import (
    FAILED,
    RUNNING,
    MachineStatus,
    NodeReference,
    OpenShiftMachine,
)
from health.model.node import Node
from kube.resource import Resource
from objects.frozen import FrozenObject

GROUP = "cluster.x-k8s.io"
FINALIZER = "machine.cluster.x-k8s.io"
CLUSTER_NAME, SET_NAME = f"{GROUP}/cluster-name", f"{GROUP}/set-name"
REMEDIATE = f"{GROUP}/remediate-machine"
HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED = "HealthCheckSucceeded", "OwnerRemediated"
MACHINE_DELETING, REMEDIATION_DEFERRED = "MachineDeleting", "RemediationDeferred"

Version = Literal["v1beta2", "v1beta1"]


@dataclass(frozen=True)
class ClusterApi:
    """The resources of Cluster API in one version."""

    version: Version

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

    def _resource(self, kind: str, plural: str) -> Resource:
        return Resource(f"{GROUP}/{self.version}", kind, plural, namespaced=True)


class MachineCondition(FrozenObject):
    """The fields that conditions of both versions have."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class ClusterApiMachineStatus(MachineStatus):
    """The phase, the Node and the conditions of the Machine."""

    conditions: tuple[MachineCondition, ...] = ()


class ClusterApiMachine(OpenShiftMachine):
    """A Machine of Cluster API, as its simulated controllers read it."""

    status: ClusterApiMachineStatus = ClusterApiMachineStatus()

    @property
    def has_our_finalizer(self) -> bool:
        """True if our finalizer is among those that keep it."""
        return FINALIZER in self.metadata.finalizers

    @property
    def is_remediation_requested(self) -> bool:
        """True if the annotation requests its remediation, independent of its health."""
        return REMEDIATE in self.metadata.annotations

    def condition(self, type_: str) -> MachineCondition:
        """The condition of that type; its status is "" if there is none."""
        found = (condition for condition in self.status.conditions if condition.type == type_)
        return next(found, MachineCondition(type=type_, status=""))


def next_step(machine: ClusterApiMachine, node: Node | None, now: datetime, provisioning: timedelta) -> Step:
    """The next step for a Machine and its Node; as for OpenShift, except for the link between the two."""
    step = next_step_of_machine(machine, node if machine.is_being_deleted else None, now, provisioning)
    if not isinstance(step, NoAction) or machine.is_being_deleted or machine.status.phase == FAILED:
        return step
    if node is None or _is_linked(machine, node):
        return step
    return UpdatePhase(RUNNING, NodeReference(name=node.metadata.name))


def _is_linked(machine: ClusterApiMachine, node: Node) -> bool:
    reference = machine.status.node_ref
    return machine.status.phase == RUNNING and reference is not None and reference.name == node.metadata.name
