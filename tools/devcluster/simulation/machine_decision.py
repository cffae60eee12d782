"""The next step for a Machine on simulated hardware. Pure; called again after every step.

A Machine waits for its provider, gets its hardware, reports that, and is linked to the Node that the kubelet
of the hardware registers. A deleted Machine loses the hardware first, then the Node, then our finalizer; its
phase is Deleting once the hardware is gone. A Failed Machine is left alone, and a deleted Node is not created
again.
"""

from datetime import datetime, timedelta

from devcluster.simulation.machine_api import (
    AddFinalizer,
    DeleteNode,
    MachineApi,
    RemoveFinalizer,
    RequeueAfter,
    Step,
    SwitchOff,
    SwitchOn,
    UpdatePhase,
)
from devcluster.simulation.machine_object import DELETING, FAILED, PROVISIONED, PROVISIONING, MachineObject
from devcluster.simulation.no_action import NoAction
from health.model.node import Node


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
