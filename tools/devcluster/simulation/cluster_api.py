"""Cluster API in one version: the Nodes of its Machines are in a workload cluster.

Only the Machine's nodeRef, a name in the other cluster, links Machine and Node.
"""

from dataclasses import dataclass
from datetime import datetime

from devcluster.simulation.controller import NoAction
from devcluster.simulation.machine_api import Step, UpdatePhase
from devcluster.simulation.machine_object import (
    PROVISIONED,
    RUNNING,
    MachineCondition,
    MachineObject,
    ReferencedNode,
    Version,
    with_condition,
)
from health.model.node import Node
from kube.resource import Object, Resource

GROUP = "cluster.x-k8s.io"
CLUSTER_NAME, SET_NAME = f"{GROUP}/cluster-name", f"{GROUP}/set-name"
INFRASTRUCTURE_READY = MachineCondition(
    type="InfrastructureReady", status="True", reason="Ready", message="The simulated hardware runs."
)


@dataclass(frozen=True)
class ClusterApi:
    """The resources and rules of Cluster API in one version."""

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
