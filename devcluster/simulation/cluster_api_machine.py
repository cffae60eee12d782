"""A Machine of Cluster API, and how it gets its Node in the workload cluster.

OpenShift's machine API began as Cluster API, and what the stand-ins read of both has the same shape: a
Machine here is read as one there, with its own finalizer, and conditions in the form of the version that is
served. What links a Machine and its Node is the Machine's nodeRef alone, a name in the other cluster.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from devcluster.simulation.machine import Nothing, Report, Step
from devcluster.simulation.machine import next_step as next_step_of_machine
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
    """Where the kinds are, in one version."""

    version: Version

    @property
    def clusters(self) -> Resource:
        """Where Clusters are."""
        return self._resource("Cluster", "clusters")

    @property
    def machines(self) -> Resource:
        """Where Machines are."""
        return self._resource("Machine", "machines")

    @property
    def machine_sets(self) -> Resource:
        """Where MachineSets are."""
        return self._resource("MachineSet", "machinesets")

    @property
    def machine_health_checks(self) -> Resource:
        """Where MachineHealthChecks are."""
        return self._resource("MachineHealthCheck", "machinehealthchecks")

    def _resource(self, kind: str, plural: str) -> Resource:
        return Resource(f"{GROUP}/{self.version}", kind, plural, namespaced=True)


class MachineCondition(FrozenObject):
    """What both forms of a condition have."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class ClusterApiMachineStatus(MachineStatus):
    """How far the Machine is, and what is said of it."""

    conditions: tuple[MachineCondition, ...] = ()


class ClusterApiMachine(OpenShiftMachine):
    """A Machine."""

    status: ClusterApiMachineStatus = ClusterApiMachineStatus()

    @property
    def is_ours_to_let_go(self) -> bool:
        """Whether our finalizer is among those that keep it."""
        return FINALIZER in self.metadata.finalizers

    @property
    def is_asked_for_by_a_person(self) -> bool:
        """Whether somebody wants it remediated, whatever its health."""
        return REMEDIATE in self.metadata.annotations

    def condition(self, type_: str) -> MachineCondition:
        """What is said in that condition; a status of "" where nothing is."""
        found = (condition for condition in self.status.conditions if condition.type == type_)
        return next(found, MachineCondition(type=type_, status=""))


def next_step(machine: ClusterApiMachine, node: Node | None, now: datetime, provisioning: timedelta) -> Step:
    """Decide from the Machine and its Node, as OpenShift's does but for the link between the two."""
    step = next_step_of_machine(machine, node if machine.is_being_deleted else None, now, provisioning)
    if not isinstance(step, Nothing) or machine.is_being_deleted or machine.status.phase == FAILED:
        return step
    if node is None or _is_linked(machine, node):
        return step
    return Report(RUNNING, NodeReference(name=node.metadata.name))


def _is_linked(machine: ClusterApiMachine, node: Node) -> bool:
    reference = machine.status.node_ref
    return machine.status.phase == RUNNING and reference is not None and reference.name == node.metadata.name
