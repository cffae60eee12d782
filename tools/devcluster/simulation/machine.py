"""A simulated machine with its boot ID, and the next step for a Machine on such hardware.

`next_step` is pure: time is an argument, and it is called again after every step. A Machine waits for its
provider, gets its hardware, reports that, and is linked to the Node that the kubelet of the hardware
registers. A deleted Machine loses the hardware first, then the Node, then our finalizer; its phase is
Deleting once the hardware is gone. A Failed Machine is left alone, and a deleted Node is not created again.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from devcluster.simulation.no_action import NoAction
from devcluster.simulation.openshift_machine import (
    DELETING,
    FAILED,
    PROVISIONED,
    PROVISIONING,
    RUNNING,
    NodeReference,
    OpenShiftMachine,
)
from health.model.node import Node

FIRST_ADDED = 1_000_001
"""The number of the first machine that is added to the initial fleet."""

ADDRESS_BLOCK = 254
"""Usable addresses in each /24 of 10.0.0.0/8."""


@dataclass(frozen=True)
class Machine:
    """One machine, as its kubelet finds it when it starts."""

    name: str
    """The name of its Node: `node-<number>`, or the name it was added with."""
    number: int
    """Counted from 1, or from `FIRST_ADDED`."""
    boot_id: str
    """As /proc/sys/kernel/random/boot_id: it changes with each boot."""

    @property
    def hardware_id(self) -> str:
        """An ID that survives reboots, and new simulations of the fleet."""
        return _hardware_id(self.name)

    @property
    def address(self) -> str:
        """The address of the node; no process listens there."""
        block, host = divmod(self.number - 1, ADDRESS_BLOCK)
        return f"10.{block >> 8 & 255}.{block & 255}.{host + 1}"


def node_name(number: int) -> str:
    return f"node-{number}"


def provider_id(node: str) -> str:
    """The ID that a cloud would give the machine of the Node `node`."""
    return f"simulated://{_hardware_id(node)}"


def new_boot_id() -> str:
    return str(uuid.uuid4())


def _hardware_id(node: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.demo.paramedic.dev"))


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
    node: NodeReference | None = None


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


def next_step(machine: OpenShiftMachine, node: Node | None, now: datetime, provisioning: timedelta) -> Step:
    """The next step for the Machine and its Node; `provisioning` is how long its hardware takes."""
    if machine.is_being_deleted:
        return _next_of_deletion(machine, node)
    if machine.status.phase == FAILED:
        return NoAction()
    if not machine.has_our_finalizer:
        return AddFinalizer()
    if not machine.spec.provider_id:
        return _next_of_provisioning(machine, now, provisioning)
    if machine.status.phase in ("", PROVISIONING):
        return UpdatePhase(PROVISIONED)
    return NoAction() if node is None else _next_of_link(machine, node)


def _next_of_provisioning(machine: OpenShiftMachine, now: datetime, provisioning: timedelta) -> Step:
    if machine.status.phase != PROVISIONING:
        return UpdatePhase(PROVISIONING)
    remaining = machine.metadata.creation_timestamp + provisioning - now
    return RequeueAfter(remaining) if remaining > timedelta() else SwitchOn()


def _next_of_link(machine: OpenShiftMachine, node: Node) -> Step:
    missing = machine.spec.metadata.labels.items() - node.metadata.labels.items()
    if missing or node.metadata.annotations.machine != machine.full_name:
        return LinkNode(node.metadata.uid)
    reference = NodeReference(name=node.metadata.name, uid=node.metadata.uid)
    if (machine.status.phase, machine.status.node_ref) != (RUNNING, reference):
        return UpdatePhase(RUNNING, reference)
    return NoAction()


def _next_of_deletion(machine: OpenShiftMachine, node: Node | None) -> Step:
    if not machine.has_our_finalizer:
        return NoAction()
    if machine.status.phase != DELETING:
        return SwitchOff()
    if node is None:
        return RemoveFinalizer()
    return NoAction() if node.metadata.deletion_timestamp else DeleteNode(node.metadata.uid)
