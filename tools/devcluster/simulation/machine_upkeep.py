"""Controls one Machine on simulated hardware: read, decide, take one step, and repeat.

A Machine waits for its provider, gets its hardware, reports that, and is linked to the Node that the kubelet
of the hardware registers. A deleted Machine loses the hardware first, then the Node, then our finalizer; its
phase is Deleting once the hardware is gone. A Failed Machine is left alone, and a deleted Node is not created
again. As with a real provider, a Machine whose finalizer a user removes leaves its hardware behind.

Each step begins with a fresh read and may be repeated, so a killed controller continues from any point.
Patches of Machines apply only to the version that was read; those of Nodes to any version, because the
kubelet writes all the time.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from devcluster.simulation.control_socket import PowerSwitch
from devcluster.simulation.controller import NoAction
from devcluster.simulation.machine_api import (
    AddFinalizer,
    DeleteNode,
    LinkNode,
    MachineApi,
    RemoveFinalizer,
    RequeueAfter,
    Step,
    SwitchOff,
    SwitchOn,
    UpdatePhase,
    link,
)
from devcluster.simulation.machine_object import DELETING, FAILED, PROVISIONED, PROVISIONING, MachineObject
from devcluster.simulation.machine_room import provider_id
from health.model.node import Node
from kube.client import Client
from kube.errors import NotFound
from kube.record import Key
from kube.resource import NODES, Object
from objects.metadata import ObjectMetadata


def next_step(
    api: MachineApi, machine: MachineObject, node: Node | None, now: datetime, provisioning: timedelta
) -> Step:
    """The next step for the Machine and its Node; `provisioning` is how long its hardware takes."""
    has_our_finalizer = api.finalizer in machine.metadata.finalizers
    if machine.is_being_deleted:
        return _next_of_deletion(machine, node) if has_our_finalizer else NoAction()
    if machine.status.phase == FAILED:
        return NoAction()
    if not has_our_finalizer:
        return AddFinalizer()
    if not machine.spec.provider_id:
        return _next_of_provisioning(machine, now, provisioning)
    if machine.status.phase in ("", PROVISIONING):
        return UpdatePhase(PROVISIONED)
    return NoAction() if node is None else api.next_link(machine, node)


def _next_of_provisioning(machine: MachineObject, now: datetime, provisioning: timedelta) -> Step:
    if machine.status.phase != PROVISIONING:
        return UpdatePhase(PROVISIONING)
    remaining = machine.metadata.creation_timestamp + provisioning - now
    return RequeueAfter(remaining) if remaining > timedelta() else SwitchOn()


def _next_of_deletion(machine: MachineObject, node: Node | None) -> Step:
    if machine.status.phase != DELETING:
        return SwitchOff()
    if node is None:
        return RemoveFinalizer()
    return NoAction() if node.metadata.deletion_timestamp else DeleteNode(node.metadata.uid)


def with_finalizer(machine: MachineObject, finalizer: str) -> Object:
    """A patch that adds a finalizer to those of others."""
    return of_version(machine.metadata, finalizers=[*machine.metadata.finalizers, finalizer])


def without_finalizer(machine: MachineObject, finalizer: str) -> Object:
    """A patch that removes a finalizer and keeps those of others."""
    others = [other for other in machine.metadata.finalizers if other != finalizer]
    return of_version(machine.metadata, finalizers=others)


def of_version(metadata: ObjectMetadata, **changes: object) -> Object:
    """A patch of the metadata that applies only to the version that was read."""
    return {"metadata": {"resourceVersion": metadata.resource_version, **changes}}


@dataclass(frozen=True, kw_only=True)
class MachineUpkeep:
    """Does for a Machine what the controllers of its API do, on simulated hardware."""

    api: MachineApi
    management: Client
    """The cluster of the Machines."""
    workload: Client
    """The cluster of their Nodes."""
    switch: PowerSwitch
    provisioning: timedelta
    """The time between the creation of a Machine and its hardware."""

    async def look_after(self, key: Key) -> timedelta | None:
        """Work until nothing is to be done. Returns when to look again, if ever.

        Raises KubernetesError and SimulationError.
        """
        try:
            while True:
                stored = await self.management.get(self.api.machines, key.name, key.namespace)
                machine = MachineObject.model_validate(stored)
                node = await self._find_node(machine.node_name)
                step = next_step(self.api, machine, node, datetime.now(UTC), self.provisioning)
                if isinstance(step, NoAction | RequeueAfter):
                    return step.duration if isinstance(step, RequeueAfter) else None
                await self._do(step, machine, stored)
        except NotFound:  # the Machine or its Node is gone; that change leads here again
            return None

    async def _do(self, step: Step, machine: MachineObject, stored: Object) -> None:
        match step:
            case AddFinalizer():
                await self._patch(machine, with_finalizer(machine, self.api.finalizer))
            case SwitchOn():
                await self.switch.add(machine.node_name)
                spec = {"providerID": provider_id(machine.node_name)}
                await self._patch(machine, of_version(machine.metadata) | {"spec": spec})
            case UpdatePhase():
                await self._report(step, machine, stored)
            case LinkNode(uid=uid):
                await self.workload.merge_patch(NODES, machine.node_name, link(machine, uid))
            case SwitchOff():
                await self.switch.remove(machine.node_name)
                await self._report(UpdatePhase(DELETING), machine, stored)
            case DeleteNode(uid=uid):
                with suppress(NotFound):
                    await self.workload.delete(NODES, machine.node_name, uid=uid)
            case RemoveFinalizer():
                await self._patch(machine, without_finalizer(machine, self.api.finalizer))

    async def _report(self, report: UpdatePhase, machine: MachineObject, stored: Object) -> None:
        status = self.api.status(report, stored, datetime.now(UTC))
        await self._patch(machine, of_version(machine.metadata) | {"status": status}, "status")

    async def _patch(self, machine: MachineObject, body: Object, subresource: str = "") -> None:
        at = machine.metadata
        await self.management.merge_patch(self.api.machines, at.name, body, at.namespace, subresource)

    async def _find_node(self, name: str) -> Node | None:
        try:
            return Node.model_validate(await self.workload.get(NODES, name))
        except NotFound:
            return None
