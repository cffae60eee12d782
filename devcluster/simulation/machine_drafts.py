"""What the stand-in for OpenShift's machine API writes. Pure: time and names are arguments.

Patches of Machines and MachineSets apply only to the version that was read. Those of Nodes apply to any
version of the Node that was read, because its kubelet writes all the time.
"""

from datetime import datetime

from devcluster.simulation.machine import provider_id
from devcluster.simulation.machine_decision import Report
from devcluster.simulation.openshift_machine import FINALIZER, NODE_ANNOTATION, OpenShiftMachine
from devcluster.simulation.openshift_machine_set import MachineSetStatus, OpenShiftMachineSet
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from kube.metadata import Metadata
from kube.resource import Object
from kube.timestamps import timestamp


def new_machine(machine_set: OpenShiftMachineSet, suffix: str) -> Object:
    """Build a Machine of a set."""
    owner, template = machine_set.metadata, machine_set.spec.template
    reference = {
        "apiVersion": MACHINE_SETS.api_version,
        "kind": MACHINE_SETS.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": f"{owner.name}-{suffix}",
        "namespace": owner.namespace,
        "labels": template.metadata.labels,
        "annotations": template.metadata.annotations,
        "finalizers": [FINALIZER],
        "ownerReferences": [reference],
    }
    return {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "metadata": metadata,
        "spec": template.spec,
    }


def with_finalizer(machine: OpenShiftMachine) -> Object:
    """Add our finalizer to those of others."""
    return _of_version(machine.metadata, finalizers=[*machine.metadata.finalizers, FINALIZER])


def without_finalizer(machine: OpenShiftMachine) -> Object:
    """Remove our finalizer and leave those of others."""
    others = [finalizer for finalizer in machine.metadata.finalizers if finalizer != FINALIZER]
    return _of_version(machine.metadata, finalizers=others)


def with_provider_id(machine: OpenShiftMachine) -> Object:
    """Note what the provider calls the hardware of a Machine."""
    return {**_of_version(machine.metadata), "spec": {"providerID": provider_id(machine.node_name)}}


def machine_status(machine: OpenShiftMachine, report: Report, now: datetime) -> Object:
    """Say how far a Machine is."""
    status: Object = {"phase": report.phase, "lastUpdated": timestamp(now)}
    if report.node is not None:
        status["nodeRef"] = {"kind": "Node", "name": report.node.name, "uid": report.node.uid}
    return {**_of_version(machine.metadata), "status": status}


def link(machine: OpenShiftMachine, node_uid: str) -> Object:
    """Note on a Node which Machine it is."""
    annotations, labels = {NODE_ANNOTATION: machine.full_name}, machine.spec.metadata.labels
    return {"metadata": {"uid": node_uid, "annotations": annotations, "labels": labels}}


def machine_set_status(machine_set: OpenShiftMachineSet, status: MachineSetStatus) -> Object:
    """Say how many Machines a set has."""
    return {**_of_version(machine_set.metadata), "status": status.model_dump(by_alias=True)}


def _of_version(metadata: Metadata, **changes: object) -> Object:
    return {"metadata": {"resourceVersion": metadata.resource_version, **changes}}
