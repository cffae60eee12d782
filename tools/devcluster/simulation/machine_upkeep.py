"""Controls one Machine as OpenShift's machine API does: read, decide, take one step, and repeat.

Each step begins with a fresh read and may be repeated, so a killed controller continues from any point. As
with a real provider, a Machine whose finalizer a user removes leaves its hardware behind. Patches of Machines
and MachineSets apply only to the version that was read; those of Nodes to any version, because the kubelet
writes all the time.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from devcluster.simulation.machine import (
    AddFinalizer,
    DeleteNode,
    LinkNode,
    RemoveFinalizer,
    RequeueAfter,
    Step,
    SwitchOff,
    SwitchOn,
    UpdatePhase,
    next_step,
    provider_id,
)
from devcluster.simulation.no_action import NoAction
from devcluster.simulation.openshift_machine import (
    DELETING,
    FINALIZER,
    NODE_ANNOTATION,
    MachineSetStatus,
    OpenShiftMachine,
    OpenShiftMachineSet,
)
from devcluster.simulation.power_switch import PowerSwitch
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from health.model.node import Node
from kube.client import Client
from kube.errors import NotFound
from kube.record import Key
from kube.resource import NODES, Object
from objects.metadata import ObjectMetadata
from objects.timestamps import stamp


def new_machine(machine_set: OpenShiftMachineSet, suffix: str) -> Object:
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
    """A patch that adds our finalizer to those of others."""
    return _of_version(machine.metadata, finalizers=[*machine.metadata.finalizers, FINALIZER])


def without_finalizer(machine: OpenShiftMachine) -> Object:
    """A patch that removes our finalizer and keeps those of others."""
    others = [finalizer for finalizer in machine.metadata.finalizers if finalizer != FINALIZER]
    return _of_version(machine.metadata, finalizers=others)


def with_provider_id(machine: OpenShiftMachine) -> Object:
    """A patch with the provider's ID of the hardware."""
    return {**_of_version(machine.metadata), "spec": {"providerID": provider_id(machine.node_name)}}


def machine_status(machine: OpenShiftMachine, report: UpdatePhase, now: datetime) -> Object:
    """A patch of the status with the reported phase."""
    status: Object = {"phase": report.phase, "lastUpdated": stamp(now)}
    if report.node is not None:
        status["nodeRef"] = {"kind": "Node", "name": report.node.name, "uid": report.node.uid}
    return {**_of_version(machine.metadata), "status": status}


def link(machine: OpenShiftMachine, node_uid: str) -> Object:
    """A patch that names the Machine on its Node."""
    annotations, labels = {NODE_ANNOTATION: machine.full_name}, machine.spec.metadata.labels
    return {"metadata": {"uid": node_uid, "annotations": annotations, "labels": labels}}


def machine_set_status(machine_set: OpenShiftMachineSet, status: MachineSetStatus) -> Object:
    """A patch of the status with the numbers of Machines."""
    return {**_of_version(machine_set.metadata), "status": status.model_dump(by_alias=True)}


def _of_version(metadata: ObjectMetadata, **changes: object) -> Object:
    return {"metadata": {"resourceVersion": metadata.resource_version, **changes}}


class MachineUpkeep:
    """Does for a Machine what the controllers of OpenShift do, on simulated hardware."""

    def __init__(self, client: Client, switch: PowerSwitch, provisioning: timedelta) -> None:
        """`provisioning` is the time between the creation of a Machine and its hardware."""
        self._client = client
        self._switch = switch
        self._provisioning = provisioning

    async def look_after(self, key: Key) -> timedelta | None:
        """Work until nothing is to be done. Returns when to look again, if ever.

        Raises KubernetesError and SimulationError.
        """
        try:
            while True:
                answer = await self._client.get(MACHINES, key.name, key.namespace)
                machine = OpenShiftMachine.model_validate(answer)
                node = await self._find_node(machine.node_name)
                step = next_step(machine, node, datetime.now(UTC), self._provisioning)
                if isinstance(step, NoAction | RequeueAfter):
                    return step.duration if isinstance(step, RequeueAfter) else None
                await self._do(step, machine)
        except NotFound:  # the Machine or its Node is gone; that change leads here again
            return None

    async def _do(self, step: Step, machine: OpenShiftMachine) -> None:
        match step:
            case AddFinalizer():
                await self._patch(machine, with_finalizer(machine))
            case SwitchOn():
                await self._switch.add(machine.node_name)
                await self._patch(machine, with_provider_id(machine))
            case UpdatePhase():
                await self._report(machine, step)
            case LinkNode(uid=uid):
                await self._client.merge_patch(NODES, machine.node_name, link(machine, uid))
            case SwitchOff():
                await self._switch.remove(machine.node_name)
                await self._report(machine, UpdatePhase(DELETING))
            case DeleteNode(uid=uid):
                with suppress(NotFound):
                    await self._client.delete(NODES, machine.node_name, uid=uid)
            case RemoveFinalizer():
                await self._patch(machine, without_finalizer(machine))

    async def _report(self, machine: OpenShiftMachine, report: UpdatePhase) -> None:
        status = machine_status(machine, report, datetime.now(UTC))
        await self._patch(machine, status, "status")

    async def _patch(self, machine: OpenShiftMachine, body: Object, subresource: str = "") -> None:
        at = machine.metadata
        await self._client.merge_patch(MACHINES, at.name, body, at.namespace, subresource)

    async def _find_node(self, name: str) -> Node | None:
        try:
            return Node.model_validate(await self._client.get(NODES, name))
        except NotFound:
            return None
