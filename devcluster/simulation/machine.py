"""A simulated Machine: what survives a reboot (all but its boot ID), and what it wants next.

`next_step` is pure: time is an argument, and it is asked again after every step. A Machine waits for its
provider, gets its hardware, says so, and is linked to the Node that the kubelet of the hardware registers.
One that is deleted loses the hardware first, then the Node, then our finalizer; its phase is Deleting once
the hardware is gone. One that is Failed is left alone, and a Node that somebody deleted is not made anew.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

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
"""Number of the first machine that is added to the fleet a simulation begins with."""

ADDRESS_BLOCK = 254
"""Usable addresses in each /24 of 10.0.0.0/8 that nodes are given."""


@dataclass(frozen=True)
class Machine:
    """One machine, as its kubelet finds it when it starts."""

    name: str
    """Name of its Node: `node-<number>`, or what whoever added it says."""
    number: int
    """From 1, or from `FIRST_ADDED`."""
    boot_id: str
    """As /proc/sys/kernel/random/boot_id: another one after each boot."""

    @property
    def hardware_id(self) -> str:
        """The same over every reboot, and every time the fleet is simulated."""
        return _hardware_id(self.name)

    @property
    def address(self) -> str:
        """Address of the node; nothing listens there."""
        block, host = divmod(self.number - 1, ADDRESS_BLOCK)
        return f"10.{block >> 8 & 255}.{block & 255}.{host + 1}"


def node_name(number: int) -> str:
    """Name of the Node of machine `number`."""
    return f"node-{number}"


def provider_id(node: str) -> str:
    """What a cloud would call the machine of the Node `node`."""
    return f"simulated://{_hardware_id(node)}"


def new_boot_id() -> str:
    """Boot ID of a machine that boots now."""
    return str(uuid.uuid4())


def _hardware_id(node: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.demo.paramedic.dev"))


@dataclass(frozen=True)
class Nothing:
    """It is as it should be, or somebody else's turn."""


@dataclass(frozen=True)
class Wait:
    """Its provider takes so much longer."""

    duration: timedelta


@dataclass(frozen=True)
class AddFinalizer:
    """Make sure that it does not go before its Node."""


@dataclass(frozen=True)
class Report:
    """Say how far it is, and which Node it became."""

    phase: str
    node: NodeReference | None = None


@dataclass(frozen=True)
class SwitchOn:
    """Give it hardware, and note what the provider calls that."""


@dataclass(frozen=True)
class LinkNode:
    """Note on its Node which Machine it is, and give it the labels that the Machine has for it."""

    uid: str


@dataclass(frozen=True)
class SwitchOff:
    """Take its hardware away, and say so."""


@dataclass(frozen=True)
class DeleteNode:
    """Delete the Node that its hardware had."""

    uid: str


@dataclass(frozen=True)
class LetGo:
    """Remove our finalizer."""


Step = Nothing | Wait | AddFinalizer | Report | SwitchOn | LinkNode | SwitchOff | DeleteNode | LetGo


def next_step(machine: OpenShiftMachine, node: Node | None, now: datetime, provisioning: timedelta) -> Step:
    """Decide from the Machine and its Node; `provisioning` is how long a provider takes from its creation."""
    if machine.is_being_deleted:
        return _next_of_deletion(machine, node)
    if machine.status.phase == FAILED:
        return Nothing()
    if not machine.is_ours_to_let_go:
        return AddFinalizer()
    if not machine.spec.provider_id:
        return _next_of_provisioning(machine, now, provisioning)
    if machine.status.phase in ("", PROVISIONING):
        return Report(PROVISIONED)
    return Nothing() if node is None else _next_of_link(machine, node)


def _next_of_provisioning(machine: OpenShiftMachine, now: datetime, provisioning: timedelta) -> Step:
    if machine.status.phase != PROVISIONING:
        return Report(PROVISIONING)
    remaining = machine.metadata.creation_timestamp + provisioning - now
    return Wait(remaining) if remaining > timedelta() else SwitchOn()


def _next_of_link(machine: OpenShiftMachine, node: Node) -> Step:
    missing = machine.spec.metadata.labels.items() - node.metadata.labels.items()
    if missing or node.metadata.annotations.machine != machine.full_name:
        return LinkNode(node.metadata.uid)
    reference = NodeReference(name=node.metadata.name, uid=node.metadata.uid)
    if (machine.status.phase, machine.status.node_ref) != (RUNNING, reference):
        return Report(RUNNING, reference)
    return Nothing()


def _next_of_deletion(machine: OpenShiftMachine, node: Node | None) -> Step:
    if not machine.is_ours_to_let_go:
        return Nothing()
    if machine.status.phase != DELETING:
        return SwitchOff()
    if node is None:
        return LetGo()
    return Nothing() if node.metadata.deletion_timestamp else DeleteNode(node.metadata.uid)
