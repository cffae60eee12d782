"""OpenShift's machine API: its Node names the Machine, and the Machine refers to the Node by its uid."""

from dataclasses import dataclass
from datetime import datetime

from devcluster.simulation.controller import NoAction
from devcluster.simulation.machine_api import LinkNode, Step, UpdatePhase
from devcluster.simulation.machine_object import RUNNING, MachineObject, ReferencedNode, Version
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from health.model.node import Node
from kube.resource import Object, Resource
from objects.timestamps import stamp

NODE_ANNOTATION = "machine.openshift.io/machine"
"""On a Node: namespace and name of its Machine."""


@dataclass(frozen=True, kw_only=True)
class OpenShiftApi:
    """OpenShift's machine API, which has one version."""

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
